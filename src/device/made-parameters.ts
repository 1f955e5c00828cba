/**
 * Parameters that a device makes in its own memory instead of reading them: development parameters of circuits whose
 * files would be tens of gigabytes. All devices of an engine are given the same secrets, and so hold the same points.
 */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { CircuitShape } from '../circuit/shape.ts'
import { SrsUnavailableError, UnsupportedProofError } from '../errors.ts'
import type { DevicePoints, DeviceSetup, ProvingDevice, Run } from '../groth16/proving-device.ts'
import { SrsPoints, type SrsPointsOptions } from '../groth16/srs-points.ts'
import { type PointRange, paramsLayout, QUERIES } from '../params/layout.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import type { SrsSource } from '../params/srs-source.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { parseVerifyingKey, type VerifyingKey } from '../params/verifying-key.ts'
import { orAborted } from '../params/waiting.ts'

/** What an open parameter file gives, of parameters without one. */
export interface MadeParameters {
  readonly file: { readonly key: VerifyingKey; close(): Promise<void> }
  readonly points: SrsPoints
}

/** Shares of the time: columns at τ, then points. */
const SETUP_SHARE = 0.2

/**
 * Makes parameters, and writes their verifying key to `located.vkFile`.
 * @param secrets of their set-up; who has none makes no parameters
 * @param options with all queries kept, all points are made now; else each pass makes those anew that are not, as it
 * would read them
 * @throws {UnsupportedProofError} the device makes none
 * @throws {SrsUnavailableError} the key can't be written
 * @throws `run.signal.reason` once the signal aborts
 */
export async function makeParameters(
  device: ProvingDevice,
  shape: CircuitShape,
  located: ParametersLocation,
  secrets: ToxicWaste | undefined,
  options: Omit<SrsPointsOptions, 'make'>,
  run: Run,
): Promise<MadeParameters> {
  const { vkFile, paramsFile: name } = located
  const open = device.openSetup?.bind(device)
  if (open === undefined || secrets === undefined) {
    throw new UnsupportedProofError(`${device.name} makes no parameters of ${shape.circuitId} in its memory`, {
      details: { device: device.name, expected: 'a GPU', received: device.kind },
    })
  }
  const setup = new SharedSetup((of) => open(shape, secrets, of))
  try {
    const { verifyingKey } = await setup.use(run, (share) => run.unit(SETUP_SHARE * share))
    await writeKey(vkFile, verifyingKey)
    const key = parseVerifyingKey(verifyingKey, { file: vkFile, inputs: shape.inputs, trusted: true })
    const layout = paramsLayout(shape)
    const points = new SrsPoints(device, unread(name, layout), {
      ...options,
      make: (range, of) => setup.points(range, of),
    })
    try {
      const { keep } = options
      if (typeof keep === 'boolean' ? keep : QUERIES.every((query) => keep.has(query))) {
        await makeAll(points, run)
        // What takes their place, should they be given up, is another set-up of the same secrets.
        await setup.release()
      }
    } catch (error) {
      points.release()
      throw error
    }
    return { file: { key, close: () => setup.release() }, points }
  } catch (error) {
    await setup.release()
    throw error
  }
}

async function makeAll(points: SrsPoints, run: Run): Promise<void> {
  const total = points.ranges.length
  let begun = 0
  const runOf = (): Run => {
    const before = begun++
    return {
      ...run,
      unit: (share) => run.unit(SETUP_SHARE + ((1 - SETUP_SHARE) * (before + share)) / total),
    }
  }
  await points.pass(runOf, async () => run.signal.throwIfAborted())
}

const unread = (name: string, layout: SrsSource['layout']): SrsSource => ({
  layout,
  name,
  readInto: () => Promise.reject(new Error('made points are not read')),
  close: async () => {},
})

interface BegunSetup {
  readonly setup: Promise<DeviceSetup>
  readonly controller: AbortController
  /** What those hear of the work who wait for it. */
  readonly waiting: Set<(share: number) => void>
  open: boolean
}

/**
 * A set-up that is begun when it is needed, once for all who wait, and again after it was released. Of one that nobody
 * waits for any more the rest is not done.
 */
class SharedSetup {
  readonly #open: (run: Run) => Promise<DeviceSetup>
  #current: BegunSetup | undefined
  /** Settles when what was given up is free. */
  #ended: Promise<void> = Promise.resolve()

  constructor(open: (run: Run) => Promise<DeviceSetup>) {
    this.#open = open
  }

  async use(run: Run, unit: (share: number) => void): Promise<DeviceSetup> {
    run.signal.throwIfAborted()
    const current = this.#current ?? this.#begin(run)
    const tell = (share: number): void => unit(share)
    current.waiting.add(tell)
    try {
      return await orAborted(current.setup, run.signal)
    } finally {
      current.waiting.delete(tell)
      if (current.waiting.size === 0 && !current.open) this.#end(current)
    }
  }

  #begin(run: Run): BegunSetup {
    const controller = new AbortController()
    const waiting = new Set<(share: number) => void>()
    const unit = (share: number): void => {
      for (const tell of waiting) tell(share)
    }
    // After the one before it, whose memory it needs.
    const setup = this.#ended.then(() => this.#open({ ...run, signal: controller.signal, unit }))
    const current: BegunSetup = { setup, controller, waiting, open: false }
    setup.then(
      () => {
        current.open = true
      },
      () => {},
    )
    this.#current = current
    return current
  }

  async points(range: PointRange, run: Run): Promise<DevicePoints> {
    const setup = await this.use(run, () => run.unit(0))
    return await setup.points(range, run)
  }

  /** What is being begun stops at its next unit. */
  #end(current: BegunSetup): void {
    if (this.#current === current) this.#current = undefined
    current.controller.abort()
    const released = current.setup.then(
      (setup) => setup.release(),
      () => {},
    )
    this.#ended = Promise.all([this.#ended, released]).then(() => {})
  }

  /** Resolves when nothing of it is left. */
  async release(): Promise<void> {
    if (this.#current !== undefined) this.#end(this.#current)
    await this.#ended
  }
}

/** Whole or not at all: other devices write the same bytes, and verification may be reading them. */
async function writeKey(file: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${file}.${process.pid}-${performance.now()}.tmp`
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(temporary, bytes)
    await rename(temporary, file)
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {})
    const received = (cause as Error).message
    throw new SrsUnavailableError(`the verifying key ${file} can't be written: ${received}`, {
      details: { file, expected: 'a folder that can be written to', received },
      cause,
    })
  }
}
