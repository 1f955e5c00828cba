import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { WasmPoseidonHasher } from '../../../src/cpu/poseidon.ts'
import type { Run } from '../../../src/groth16/proving-device.ts'
import { keptBytes, takeOver } from '../../../src/request/partitions.ts'
import type { ProofRequest, WindowPostRequest, WinningPostRequest } from '../../../src/request/proof-request.ts'
import { deriveStatement, statementOf } from '../../../src/request/statement.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { inputBytesOf } from '../../../src/synthesis/partition-input.ts'
import { postGeometry } from '../../../src/synthesis/post-geometry.ts'
import type { PostPartition } from '../../../src/synthesis/post-partition.ts'
import { postWitnessSizes } from '../../../src/synthesis/post-witness.ts'
import { checkAndSynthesize } from '../../../src/synthesis/synthesize.ts'
import { synthesizeUnchecked } from '../../../src/synthesis/synthesize-post.ts'
import { inclusionProofOffset, vanillaLayout } from '../../../src/synthesis/vanilla-post.ts'
import {
  recordedPublicInputs,
  window3Request,
  windowRequest,
  winning32Request,
  winningRequest,
} from '../../support/fixtures.ts'
import { syntheticWindowRequest, syntheticWinningRequest } from '../../support/synthetic-post.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const scalars = (bytes: Uint8Array): string[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => hex(bytes.subarray(32 * i, 32 * i + 32)))

const ONE = `01${'0'.repeat(62)}`

const hasher = new WasmPoseidonHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }

async function partitionsOf(request: ProofRequest): Promise<PostPartition[]> {
  return (await takeOver(validateRequest(request))) as PostPartition[]
}

describe('a witness whose check is left to a device', () => {
  const unchecked = async (request: WindowPostRequest | WinningPostRequest, run: Run = idle) => {
    const partitions = await takeOver(validateRequest(request))
    return await Promise.all(
      partitions.map(async (partition) => {
        const witness = await synthesizeUnchecked({ ...partition, unchecked: true }, run)
        return { partition, witness }
      }),
    )
  }

  it.each([
    ['a full partition and a padded one', window3Request()],
    ['pseudo-sectors', winningRequest()],
  ])('is the one that is checked here: %s', async (_, request) => {
    const made = await unchecked(request)
    for (const { partition, witness } of made) {
      expect(witness).toEqual({ ...(await checkAndSynthesize(partition, hasher, idle)), unchecked: true })
      const full = partition.kind === 'window-post' && partition.places.length === 2
      expect(witness.wide === partition.scalars).toBe(full)
      expect(inputBytesOf(witness, partition)).toBe(full ? witness.wide.length : 0)
    }
    expect(made.length).toBe(request.kind === 'window-post' ? 2 : 1)
  })

  it('is made of a path that leads elsewhere, too', async () => {
    const request = windowRequest()
    const layout = vanillaLayout(postGeometry('wpost-2k'))
    const at = inclusionProofOffset(layout, 3) + layout.leaf
    const proof = request.vanillaProofs[1] as Uint8Array
    proof[at] = (proof[at] as number) ^ 1
    const [{ partition, witness }] = (await unchecked(request)) as [Awaited<ReturnType<typeof unchecked>>[number]]
    expect(witness.unchecked).toBe(true)
    await expect(checkAndSynthesize(partition, hasher, idle)).rejects.toMatchObject({ details: { challenge: 3 } })
  })

  it('is given up with the reason of an abort', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    const [partition] = await takeOver(validateRequest(syntheticWindowRequest('32g', 2349)))
    const making = synthesizeUnchecked({ ...(partition as PostPartition), unchecked: true }, { signal, unit: () => {} })
    await expect(making).rejects.toThrow('enough')
  })
})

describe('checkAndSynthesize', () => {
  const recorded: [string, () => ProofRequest, string][] = [
    ['window', windowRequest, '2KiB/a/witness-window.json'],
    ['window-3', window3Request, '2KiB/a/witness-window-3.json'],
    ['winning', winningRequest, '2KiB/a/witness-winning.json'],
    ['winning 32 GiB', winning32Request, '32GiB/witness-winning.json'],
  ]
  it.each(recorded)(
    'accepts the recorded vanilla proofs and gives their public inputs: %s',
    async (_, request, file) => {
      const partitions = await partitionsOf(request())
      const expected = recordedPublicInputs(file)
      expect(partitions.length).toBe(expected.length)
      for (const [k, partition] of partitions.entries()) {
        const shares: number[] = []
        const run = { signal: idle.signal, unit: (share: number) => shares.push(share) }
        const { inputs, bits, wide } = await checkAndSynthesize(partition, hasher, run)
        expect(scalars(inputs)).toEqual([ONE, ...(expected[k] as string[])])
        const sizes = postWitnessSizes(postGeometry(partition.circuitId))
        expect([inputs.length, bits.length, wide.length]).toEqual([sizes.inputsBytes, sizes.bitsBytes, sizes.wideBytes])
        for (const array of [inputs, bits, wide]) expect(array.buffer).toBeInstanceOf(SharedArrayBuffer)
        expect(shares.at(-1)).toBe(1)
        expect(shares).toEqual([...shares].sort((a, b) => a - b))
      }
    },
  )

  const synthetic: [string, () => ProofRequest][] = (['2k', '8m', '512m', '32g', '64g'] as const).flatMap(
    (size): [string, () => ProofRequest][] => [
      [`wpost-${size}`, () => syntheticWindowRequest(size, 1)],
      [`winning-${size}`, () => syntheticWinningRequest(size)],
    ],
  )
  it.each(synthetic)('serves %s', async (circuitId, make) => {
    const request = make()
    const [partition] = (await partitionsOf(request)) as [PostPartition]
    expect(partition.circuitId).toBe(circuitId)
    const { inputs } = await checkAndSynthesize(partition, hasher, idle)
    const [publicInputs] = statementOf(request).publicInputs
    expect(scalars(inputs)).toEqual([ONE, ...(publicInputs?.map(hex) ?? [])])
  })

  it('pads a partition by repeating all values of the last sector', async () => {
    const [, padded] = (await partitionsOf(window3Request())) as [PostPartition, PostPartition]
    const { inputs, bits, wide } = await checkAndSynthesize(padded, hasher, idle)
    const half = (bytes: Uint8Array): [string, string] => [
      hex(bytes.subarray(0, bytes.length / 2)),
      hex(bytes.subarray(bytes.length / 2)),
    ]
    expect(half(wide)[1]).toBe(half(wide)[0])
    expect(half(inputs.subarray(32))[1]).toBe(half(inputs.subarray(32))[0])
    // 2 sectors of 10 challenges of 6 bits: 120 bits, so the second half begins within a byte.
    const bit = (i: number): number => ((bits[i >> 3] as number) >> (i & 7)) & 1
    for (let i = 0; i < 60; i++) expect(bit(60 + i)).toBe(bit(i))
    expect(bits.length).toBe(16)
    expect(bits[15]).toBe(0)
  })

  it('stops between slices with the reason of the abort', async () => {
    const [partition] = (await partitionsOf(syntheticWindowRequest('32g', 40))) as [PostPartition]
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    let units = 0
    const run: Run = {
      signal: controller.signal,
      unit() {
        units++
        controller.abort(reason)
      },
    }
    await expect(checkAndSynthesize(partition, hasher, run)).rejects.toBe(reason)
    expect(units).toBe(1)
  })
})

describe('taking over a full 32 GiB partition', () => {
  /**
   * The most that is computed between two turns of the event loop while a request is validated and taken over: in CPU
   * time, so that other processes on the machine don't count.
   */
  async function longestPauseMs(request: WindowPostRequest): Promise<number> {
    const cpuMs = (): number => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1000
    }
    let longest = 0
    let last = cpuMs()
    const beat = (): void => {
      const now = cpuMs()
      longest = Math.max(longest, now - last)
      last = now
    }
    const timer = setInterval(beat, 1)
    try {
      const validated = validateRequest(request)
      expect(keptBytes(validated)).toBe(2349 * 713 * 32)
      const [partition] = await takeOver(validated)
      expect(partition?.places.length).toBe(2349)
      await deriveStatement(validated)
      await setTimeout(2)
      return longest
    } finally {
      clearInterval(timer)
    }
  }

  it('never holds the event loop for more than 50 ms', async () => {
    const request = syntheticWindowRequest('32g', 2349)
    // The best of three: compiling and collecting garbage are counted too, on all threads.
    const pauses = []
    for (let i = 0; i < 3; i++) pauses.push(await longestPauseMs(request))
    expect(Math.min(...pauses)).toBeLessThan(50)
  })
})
