/** Requests whose form is wrong: refused at once, on the caller's thread, with the field at fault. */
import { describe, expect, it } from 'vitest'
import { InvalidRequestError } from '../../src/errors.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { snapRequest, window3Request, windowRequest, winning32Request, winningRequest } from '../support/fixtures.ts'

const refused = (request: unknown) => proverErrorOf(() => validateRequest(request))

const WINNING_FIELDS =
  'kind | registeredProof | requestId | deadline | minerId | priority | sectors | randomness | vanillaProofs'

/** `bytes` with one of them changed. */
function withByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const copy = bytes.slice()
  copy[at] = value
  return copy
}

describe('a request of the wrong form', () => {
  it.each([undefined, null, 'window-post', 7, []])('is not an object: %s', async (request) => {
    const error = await refused(request)
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details).toMatchObject({ field: 'request', expected: 'an object' })
  })

  it('throws when it is read: the cause is kept', async () => {
    const cause = new Error('a getter')
    const throwing = {
      get(): never {
        throw cause
      },
    }
    const place = Object.defineProperty(windowRequest(), 'randomness', throwing)
    const entry = { ...windowRequest(), vanillaProofs: Object.defineProperty([0], 0, throwing) }
    for (const request of [place, entry, new Proxy(windowRequest(), throwing)]) {
      const error = await refused(request)
      expect(error).toMatchObject({ code: 'ERR_INVALID_REQUEST', details: { field: 'request' } })
      expect(error.cause).toBe(cause)
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect((await refused(proxy)).code).toBe('ERR_INVALID_REQUEST')
    // A view without its constructor has no name to be called by.
    const nameless = Object.assign(new Uint16Array(16), { constructor: undefined })
    expect((await refused({ ...windowRequest(), randomness: nameless })).code).toBe('ERR_INVALID_REQUEST')
  })

  // [what, field, value, expected]
  const wrong: [string, string, unknown, string][] = [
    ['no kind', 'kind', undefined, 'window-post | winning-post | porep-c2 | snap-update'],
    ['an unknown kind', 'kind', 'windowed-post', 'window-post | winning-post | porep-c2 | snap-update'],
    ['an empty requestId', 'requestId', '', 'a non-empty string'],
    ['a requestId that is a number', 'requestId', 7, 'a non-empty string'],
    ['a deadline that is no Date', 'deadline', 1_800_000_000_000, 'a valid Date'],
    ['an invalid deadline', 'deadline', new Date('soon'), 'a valid Date'],
    ['an unknown priority', 'priority', 'urgent', 'low | normal | high | critical'],
    ['a minerId that is a number', 'minerId', 1000, 'a bigint (1000n)'],
    ['a negative minerId', 'minerId', -1n, 'from 0n to 2n ** 64n - 1n'],
    ['a minerId of 65 bits', 'minerId', 1n << 64n, 'from 0n to 2n ** 64n - 1n'],
    ['no partitionIndex', 'partitionIndex', undefined, 'an integer from 0 to 2 ** 32 - 1'],
    ['a negative partitionIndex', 'partitionIndex', -1, 'an integer from 0 to 2 ** 32 - 1'],
    ['a fractional partitionIndex', 'partitionIndex', 0.5, 'an integer from 0 to 2 ** 32 - 1'],
    ['a partitionIndex of 33 bits', 'partitionIndex', 2 ** 32, 'an integer from 0 to 2 ** 32 - 1'],
    ['no randomness', 'randomness', undefined, 'a Uint8Array'],
    ['randomness as hex', 'randomness', '00'.repeat(32), 'a Uint8Array'],
    ['randomness of 31 bytes', 'randomness', new Uint8Array(31), '32 bytes'],
    ['randomness of 33 bytes', 'randomness', new Uint8Array(33), '32 bytes'],
    ['vanilla proofs that are no list', 'vanillaProofs', new Uint8Array(4), 'an array of Uint8Array'],
    ['an empty list of vanilla proofs', 'vanillaProofs', [], 'a list with at least one Uint8Array'],
    ['sectors that are no list', 'sectors', {}, 'an array of SectorCommitment'],
    ['an empty list of sectors', 'sectors', [], 'a list with at least one SectorCommitment'],
  ]
  it.each(wrong)('has %s', async (_, field, value, expected) => {
    const error = await refused({ ...windowRequest(), [field]: value })
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    expect(error.retryable).toBe(false)
    expect(error.details).toMatchObject({ field, expected })
    expect(error.message).toContain(field)
  })
})

describe('a field that no request of the kind has', () => {
  // [what, request, field, the known name or all of them]
  it.each<[string, object, string, string]>([
    ['a misspelt deadline', { ...windowRequest(), dedline: new Date() }, 'dedline', 'deadline'],
    ['letters in another order', { ...winningRequest(), prioirty: 'low' }, 'prioirty', 'priority'],
    ['another case', { ...windowRequest(), requestID: 'a' }, 'requestID', 'requestId'],
    ['underscores, as Rust has them', { ...snapRequest(), comm_r_old: new Uint8Array(32) }, 'comm_r_old', 'commROld'],
    ['one of another kind', { ...winningRequest(), commD: new Uint8Array(32) }, 'commD', WINNING_FIELDS],
    ['a prototype’s', { ...winningRequest(), toString: () => '' }, 'toString', WINNING_FIELDS],
    [
      'a name of any length',
      { ...winningRequest(), ['deadline'.repeat(50_000)]: 1 },
      'deadline'.repeat(50_000),
      WINNING_FIELDS,
    ],
  ])('is refused, with the one that is meant: %s', async (_, request, field, expected) => {
    const error = await refused(request)
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details).toEqual({ field, expected, received: field })
    expect(error.message).toContain(expected.replaceAll(' | ', ', '))
    expect(error.message.length).toBeLessThan(400)
  })

  it('says so before a field that is missed for it', async () => {
    const { minerId, ...rest } = windowRequest()
    expect((await refused({ ...rest, minerID: minerId })).details).toMatchObject({
      field: 'minerID',
      expected: 'minerId',
    })
  })

  it('counts as absent where it is undefined, and is let pass in what a chain’s API gave', () => {
    const request = windowRequest()
    const sectors = request.sectors?.map((sector) => ({ ...sector, sealProof: 'StackedDrg2KiBV1_1' })) ?? []
    expect(validateRequest({ ...request, commD: undefined, sectors } as object).kind).toBe('window-post')
  })
})

describe('randomness that is not canonical', () => {
  it.each([
    ['its top bits are set', withByte(new Uint8Array(32), 31, 0xc0)],
    [
      'it is r itself',
      Uint8Array.from(Buffer.from('01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73', 'hex')),
    ],
  ])('is refused, and the message says how to mend it: %s', async (_, randomness) => {
    const error = await refused({ ...windowRequest(), randomness })
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    expect(error.details).toEqual({
      field: 'randomness',
      expected: '32 bytes little-endian below r',
      received: Buffer.from(randomness).toString('hex'),
    })
    expect(error.message).toContain('randomness[31] &= 0x3f')
  })

  it('is accepted at r - 1, and not changed', () => {
    const largest = Buffer.from('00000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73', 'hex')
    const { randomness } = validateRequest({ ...windowRequest(), randomness: largest })
    expect(Buffer.from(randomness).equals(largest)).toBe(true)
  })
})

describe('a registered proof', () => {
  it.each([
    ['unknown', 'StackedDrgWindow4KiBV1_2', 'is not a registered proof'],
    ['missing', undefined, 'is not a registered proof'],
    ['a number', 13, 'registeredWindowPostProof()'],
    ['of another kind', 'StackedDrgWinning2KiBV1', 'is a proof of kind winning-post'],
  ])('is %s', async (_, registeredProof, message) => {
    const error = await refused({ ...windowRequest(), registeredProof })
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    expect(error.details).toMatchObject({ field: 'registeredProof', received: String(registeredProof) })
    expect(error.details.expected).toContain('StackedDrgWindow32GiBV1_2')
    expect(error.message).toContain(message)
  })
})

describe('vanilla proofs', () => {
  it('that are not bytes are refused with their place', async () => {
    const error = await refused({ ...windowRequest(), vanillaProofs: [windowRequest().vanillaProofs[0], 'AAAA'] })
    expect(error.details).toMatchObject({ field: 'vanillaProofs[1]', expected: 'a Uint8Array', received: '"AAAA"' })
  })

  it('and expected sectors with holes are refused', async () => {
    const holes = await refused({ ...windowRequest(), vanillaProofs: new Array(2) })
    expect(holes.details).toEqual({ field: 'vanillaProofs[0]', expected: 'a Uint8Array', received: 'undefined' })
    const sectors = await refused({ ...windowRequest(), sectors: new Array(2 ** 32 - 1) })
    expect(sectors.details).toEqual({ field: 'sectors[0]', expected: 'an object', received: 'undefined' })
  })

  it.each([
    ['cut short', (bytes: Uint8Array) => bytes.slice(0, -1), '5679 bytes'],
    ['with a byte too many', (bytes: Uint8Array) => Uint8Array.from([...bytes, 0]), '5681 bytes'],
    ['empty', () => new Uint8Array(0), '0 bytes'],
  ])('%s are refused with what was expected', async (_, change, received) => {
    const request = windowRequest()
    const vanillaProofs = [request.vanillaProofs[0] as Uint8Array, change(request.vanillaProofs[1] as Uint8Array)]
    const error = await refused({ ...request, vanillaProofs })
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    expect(error.details).toEqual({ field: 'vanillaProofs[1]', expected: '5680 bytes', received })
  })

  it('of another proof are recognised by their length', async () => {
    const error = await refused({ ...windowRequest(), vanillaProofs: winning32Request().vanillaProofs })
    expect(error.details).toEqual({ field: 'vanillaProofs[0]', expected: '5680 bytes', received: '164064 bytes' })
    expect(error.message).toContain('winning-32g')
  })

  it('of the same sector twice are refused', async () => {
    const request = windowRequest()
    const [first, second] = request.vanillaProofs as [Uint8Array, Uint8Array]
    const error = await refused({ ...request, vanillaProofs: [first, second, first.slice()] })
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    expect(error.details).toEqual({ field: 'vanillaProofs[2]', sector: 168229961122n, received: 'vanillaProofs[0]' })
  })

  it('of more than one sector are refused for winning-post', async () => {
    const request = winningRequest()
    const error = await refused({ ...request, vanillaProofs: [...request.vanillaProofs, ...request.vanillaProofs] })
    expect(error.details).toMatchObject({ field: 'vanillaProofs', received: 'an array of 2' })
  })

  it('with a comm_r that is not canonical are refused with the sector', async () => {
    const request = windowRequest()
    const vanillaProofs = request.vanillaProofs.map((bytes, i) => (i === 1 ? withByte(bytes, 8 + 31, 0xff) : bytes))
    const error = await refused({ ...request, vanillaProofs })
    expect(error.details).toMatchObject({ field: 'vanillaProofs[1].comm_r', sector: 168229961669n })
  })
})

describe('the sectors that the chain expects', () => {
  const [first, second] = windowRequest().sectors as [
    { sectorNumber: bigint; commR: Uint8Array },
    { sectorNumber: bigint; commR: Uint8Array },
  ]

  it('differ in comm_r: a stale vanilla proof', async () => {
    const stale = { ...second, commR: first.commR }
    const error = await refused({ ...windowRequest(), sectors: [first, stale] })
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    expect(error.details).toEqual({
      field: 'vanillaProofs[1].comm_r',
      sector: second.sectorNumber,
      expected: Buffer.from(first.commR).toString('hex'),
      received: Buffer.from(second.commR).toString('hex'),
    })
  })

  it('lack one that is proved', async () => {
    const error = await refused({ ...windowRequest(), sectors: [second] })
    expect(error.details).toEqual({ field: 'vanillaProofs[0]', sector: first.sectorNumber })
  })

  it('have one that is not proved', async () => {
    const other = { sectorNumber: 5n, commR: first.commR }
    const error = await refused({ ...windowRequest(), sectors: [first, other, second] })
    expect(error.details).toEqual({ field: 'sectors[1]', sector: 5n })
  })

  it('name one twice', async () => {
    const error = await refused({ ...windowRequest(), sectors: [first, second, first] })
    expect(error.details).toMatchObject({ field: 'sectors[2]', sector: first.sectorNumber, received: 'sectors[0]' })
  })

  it('are not objects, or lack a field', async () => {
    expect((await refused({ ...windowRequest(), sectors: [first, 7] })).details.field).toBe('sectors[1]')
    const noCommR = await refused({ ...windowRequest(), sectors: [first, { sectorNumber: second.sectorNumber }] })
    expect(noCommR.details.field).toBe('sectors[1].commR')
    const short = await refused({ ...windowRequest(), sectors: [{ ...first, commR: first.commR.slice(1) }] })
    expect(short.details).toMatchObject({ field: 'sectors[0].commR', expected: '32 bytes' })
    const number = await refused({ ...windowRequest(), sectors: [{ ...first, sectorNumber: 5 }] })
    expect(number.details.field).toBe('sectors[0].sectorNumber')
  })
})

describe('a good request', () => {
  it('keeps nothing of the caller’s small buffers and takes the defaults of its kind', () => {
    const request = window3Request()
    const deadline = new Date('2027-01-01')
    const validated = validateRequest({ ...request, deadline, requestId: 'x' })
    request.randomness.fill(0)
    deadline.setTime(0)
    expect(validated.randomness.some((byte) => byte !== 0)).toBe(true)
    expect(validated).toMatchObject({
      kind: 'window-post',
      circuitId: 'wpost-2k',
      priority: 'high',
      partitionIndex: 0,
      partitions: 2,
      deadline: new Date('2027-01-01'),
      requestId: 'x',
    })
    expect(validateRequest(winning32Request())).toMatchObject({
      kind: 'winning-post',
      circuitId: 'winning-32g',
      priority: 'critical',
      partitions: 1,
    })
  })

  it('may have its bytes in Node’s Buffers', () => {
    const request = windowRequest()
    const vanillaProofs = request.vanillaProofs.map((bytes) => Buffer.from(bytes))
    const randomness = Buffer.from(request.randomness)
    expect(validateRequest({ ...request, vanillaProofs, randomness }).sectors.length).toBe(2)
  })
})
