/**
 * Commit-phase-1 outputs (`SealCommitPhase1Output`), in all forms in which they are kept:
 * - JSON, as the Rust API and Go's FFI give it;
 * - that as base64;
 * - `c1.json` of lotus-bench and Curio: an object with SectorNum, SectorSize, and the JSON as base64 in Phase1Out;
 * - bincode, as supraseal gives it: `vanilla_proofs`, then comm_r, comm_d, replica_id, seed and ticket.
 */
import { hash } from 'node:crypto'
import { decodeBase64 } from '../base64.ts'
import { JsonRecordReader } from '../json-records.ts'
import {
  FieldPath,
  inspectRecord,
  offsetOf,
  plainLayout,
  type RecordLayout,
  readU64,
  scalarLayout,
} from '../records.ts'
import { equalScalars, scalarHex } from '../scalar-bytes.ts'
import { porepChallenges } from './porep-challenges.ts'
import { type PorepGeometry, porepGeometry, SEAL_HEAD } from './porep-geometry.ts'
import { StackedGraph } from './porep-graph.ts'
import { NODES_PER_CHALLENGE, type PorepPartition, type SealCommitments, type SealRules } from './porep-partition.ts'
import { sealFault, sealRecordFault } from './seal-fault.ts'

/** A seal as it is asked for. Survives structured clone. */
export interface SealInput {
  readonly rules: SealRules
  readonly sectorNumber: bigint
  /** 32 bytes. */
  readonly proverId: Uint8Array
  /** What the chain expects, where it was given. */
  readonly commR?: Uint8Array | undefined
  readonly commD?: Uint8Array | undefined
  /** The commit-phase-1 output in any form. */
  readonly vanillaProof: Uint8Array
}

/**
 * Reads and checks everything that needs no tree hash: forms, lengths, canonical scalars, the sector's identity, and
 * which nodes are challenged. About half a second for the 51 MB of a 32 GiB sector. Above the input it allocates the
 * decoded base64 (38 MB) and the partitions (10 MB).
 *
 * @returns all partitions, proofs on SharedArrayBuffers
 * @throws {InvalidRequestError} with partition, challenge and field at fault
 */
export function readSeal(input: SealInput): PorepPartition[] {
  const geometry = porepGeometry(input.rules.circuitId)
  const { partitions: count, challenges, challenge } = geometry
  const head = new Uint8Array(SEAL_HEAD.bytes)
  const proofs = Array.from(
    { length: count },
    () => new Uint8Array(new SharedArrayBuffer(challenges * challenge.record.bytes)),
  )
  readOutput(input, geometry, head, proofs)
  const fault = sealRecordFault(input.sectorNumber)
  for (const [k, bytes] of proofs.entries()) {
    for (let c = 0; c < challenges; c++) {
      const path = new FieldPath('vanilla_proofs', k, c)
      inspectRecord(challenge.record, bytes, c * challenge.record.bytes, path, fault)
    }
  }
  const commitments = checkHead(input, head)
  return proofs.map((bytes, partition) => ({
    kind: 'porep-c2',
    circuitId: input.rules.circuitId,
    partition,
    sectorNumber: input.sectorNumber,
    commitments,
    nodes: challengedNodes(input.rules, commitments, partition),
    proofs: bytes,
  }))
}

/**
 * Reads what is public of a commit-phase-1 output, and checks it; the vanilla proofs are skipped.
 * @throws {InvalidRequestError}
 */
export function readSealCommitments(input: SealInput): SealCommitments {
  const head = new Uint8Array(SEAL_HEAD.bytes)
  readOutput(input, porepGeometry(input.rules.circuitId), head, undefined)
  return checkHead(input, head)
}

/** The nodes that a partition opens, each with its parents: 15 numbers a challenge. */
export function challengedNodes(rules: SealRules, commitments: SealCommitments, partition: number): Uint32Array {
  const { nodes, challenges } = porepGeometry(rules.circuitId)
  const graph = new StackedGraph(nodes, rules.porepId, rules.legacyGraph)
  const out = new Uint32Array(challenges * NODES_PER_CHALLENGE)
  const challenged = porepChallenges(rules.challengeRule, commitments, nodes, partition * challenges, challenges)
  for (const [i, node] of challenged.entries()) {
    out[i * NODES_PER_CHALLENGE] = node
    graph.parents(node, out.subarray(i * NODES_PER_CHALLENGE + 1, (i + 1) * NODES_PER_CHALLENGE))
  }
  return out
}

/** Fills the head and, where they are wanted, the partitions' proofs. Scalars are not checked yet. */
function readOutput(
  input: SealInput,
  geometry: PorepGeometry,
  head: Uint8Array,
  proofs: readonly Uint8Array[] | undefined,
): void {
  const { vanillaProof } = input
  if (vanillaProof.length === 0)
    throw sealFault({ sector: input.sectorNumber }, '', 'empty', 'JSON or bincode', '0 bytes')
  // Lengths of bincode begin with a small number and zeros; no text has bytes of zero.
  if (vanillaProof[1] === 0) readBincode(input, geometry, head, proofs)
  else readJson(input, geometry, openJson(input, geometry), head, proofs)
}

function readBincode(
  { sectorNumber, vanillaProof: bytes }: SealInput,
  geometry: PorepGeometry,
  head: Uint8Array,
  proofs: readonly Uint8Array[] | undefined,
): void {
  const sector = sectorNumber
  const proofBytes = geometry.challenges * geometry.challenge.record.bytes
  const totalBytes = 8 + geometry.partitions * (8 + proofBytes) + SEAL_HEAD.bytes
  if (bytes.length !== totalBytes) {
    const expected = `${totalBytes} bytes`
    throw sealFault({ sector }, '', `not bincode of ${geometry.circuitId}`, expected, `${bytes.length} bytes`)
  }
  const checkLength = (at: number, expected: number, partition?: number): void => {
    const length = readU64(bytes, at)
    if (length === BigInt(expected)) return
    const place = { sector, ...(partition !== undefined && { partition }) }
    const field = partition === undefined ? 'vanilla_proofs' : ''
    throw sealFault(place, field, 'a wrong length', String(expected), String(length))
  }
  checkLength(0, geometry.partitions)
  let at = 8
  for (let k = 0; k < geometry.partitions; k++) {
    checkLength(at, geometry.challenges, k)
    proofs?.[k]?.set(bytes.subarray(at + 8, at + 8 + proofBytes))
    at += 8 + proofBytes
  }
  head.set(bytes.subarray(at))
}

function readJson(
  { rules, sectorNumber }: SealInput,
  geometry: PorepGeometry,
  json: Uint8Array,
  head: Uint8Array,
  proofs: readonly Uint8Array[] | undefined,
): void {
  const fault = sealRecordFault(sectorNumber)
  const reader = new JsonRecordReader(json, new FieldPath(), fault)
  const { record } = geometry.challenge
  const into = (name: string, layout: RecordLayout) => () => reader.value(layout, head, offsetOf(SEAL_HEAD, name))
  reader.object({
    registered_proof: () => {
      const name = reader.string()
      if (name !== rules.name) throw fault(reader.path, 'another proof than the request asks for', rules.name, name)
    },
    vanilla_proofs: () => {
      if (proofs === undefined) return reader.skipValue()
      // The key is the size's first proof, whatever the version is.
      reader.onlyKey((/^.*?V1/.exec(rules.name) as RegExpExecArray)[0], () =>
        reader.array(geometry.partitions, (k) =>
          reader.array(geometry.challenges, (c) => reader.value(record, proofs[k] as Uint8Array, c * record.bytes)),
        ),
      )
    },
    comm_r: into('comm_r', scalarLayout),
    comm_d: into('comm_d', scalarLayout),
    replica_id: into('replica_id', scalarLayout),
    seed: into('seed', plainLayout),
    ticket: into('ticket', plainLayout),
  })
  reader.end()
}

/** The JSON of the output itself, out of whatever wraps it. */
function openJson(input: SealInput, geometry: PorepGeometry): Uint8Array {
  const { vanillaProof: bytes, sectorNumber } = input
  const fault = sealRecordFault(sectorNumber)
  const decode = (text: Uint8Array, field: string): Uint8Array => {
    const json = decodeBase64(text)
    if (json !== undefined) return json
    throw sealFault(
      { sector: sectorNumber },
      field,
      'not base64',
      'JSON of a commit-phase-1 output',
      describeStart(text),
    )
  }
  let start = 0
  while (isSpace(bytes[start])) start++
  let end = bytes.length
  if (bytes[start] !== 0x7b) {
    while (end > start && isSpace(bytes[end - 1])) end--
    return decode(bytes.subarray(start, end), '')
  }
  if (!isWrapped(bytes, fault)) return bytes
  const reader = new JsonRecordReader(bytes, new FieldPath(), fault)
  const checkNumber = (expected: bigint, problem: string) => () => {
    const number = reader.number(8)
    if (number !== expected) throw fault(reader.path, problem, String(expected), String(number))
  }
  let output: readonly [number, number] = [0, 0]
  reader.object({
    SectorNum: checkNumber(sectorNumber, 'of another sector than the request'),
    Phase1Out: () => {
      output = reader.stringRange()
    },
    SectorSize: checkNumber(BigInt(geometry.sectorBytes), 'of another size than the request'),
  })
  reader.end()
  return decode(bytes.subarray(...output), 'Phase1Out')
}

/** Whether the first key that either form has is one of `c1.json`. */
function isWrapped(bytes: Uint8Array, fault: ReturnType<typeof sealRecordFault>): boolean {
  const reader = new JsonRecordReader(bytes, new FieldPath(), fault)
  const wrapped = reader.firstKnownKey(['SectorNum', 'Phase1Out', 'SectorSize', ...HEAD_KEYS])
  return wrapped !== undefined && !HEAD_KEYS.includes(wrapped)
}

const HEAD_KEYS = ['registered_proof', 'vanilla_proofs', 'comm_r', 'comm_d', 'replica_id', 'seed', 'ticket']

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function describeStart(text: Uint8Array): string {
  const start = Buffer.from(text.subarray(0, 16)).toString('latin1')
  return `${text.length} bytes that begin with ${JSON.stringify(start)}`
}

/** Checks the identity of the sector: what the chain will ask for must be what was sealed. */
function checkHead(input: SealInput, head: Uint8Array): SealCommitments {
  const { sectorNumber: sector, rules } = input
  inspectRecord(SEAL_HEAD, head, 0, new FieldPath(), sealRecordFault(sector))
  const part = (name: string): Uint8Array => {
    const at = offsetOf(SEAL_HEAD, name)
    return head.slice(at, at + 32)
  }
  const [commR, commD, replicaId, seed, ticket] = ['comm_r', 'comm_d', 'replica_id', 'seed', 'ticket'].map(part) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  const compare = (field: string, name: string, expected: Uint8Array | undefined, received: Uint8Array): void => {
    if (received.every((byte) => byte === 0)) throw sealFault({ sector }, field, 'nothing but zeros', 'a value', '0')
    if (expected === undefined || equalScalars(expected, 0, received, 0)) return
    throw sealFault({ sector }, field, `differs from ${name}`, scalarHex(expected), scalarHex(received))
  }
  compare('comm_r', 'commR', input.commR, commR)
  compare('comm_d', 'commD', input.commD, commD)
  compare('seed', 'seed', undefined, seed)
  const expected = replicaIdOf(input.proverId, sector, ticket, commD, rules.porepId)
  if (!equalScalars(expected, 0, replicaId, 0)) {
    const problem = 'not that of this miner, sector number, ticket, comm_d and registered proof'
    throw sealFault({ sector }, 'replica_id', problem, scalarHex(expected), scalarHex(replicaId))
  }
  return { commR, commD, replicaId, seed, ticket }
}

/**
 * SHA-256(prover id ‖ sector number as u64 big-endian ‖ ticket ‖ comm_d ‖ porep id), cleared of its two highest bits
 * (`generate_replica_id` in storage-proofs-porep).
 */
export function replicaIdOf(
  proverId: Uint8Array,
  sectorNumber: bigint,
  ticket: Uint8Array,
  commD: Uint8Array,
  porepId: Uint8Array,
): Uint8Array {
  const sector = Buffer.alloc(8)
  sector.writeBigUInt64BE(sectorNumber)
  const digest = new Uint8Array(hash('sha256', Buffer.concat([proverId, sector, ticket, commD, porepId]), 'buffer'))
  digest[31] = (digest[31] as number) & 0x3f
  return digest
}
