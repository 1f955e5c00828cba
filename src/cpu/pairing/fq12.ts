/**
 * Fq12 = Fq6[w]/(w² − v) over Fq6 = Fq2[v]/(v³ − ξ), ξ = 1 + u. An element is six of Fq2 one behind the other: those at
 * v⁰, v¹, v², then the same times w.
 *
 * Products by Karatsuba: 6 multiplications in Fq2 for one in Fq6, 18 in Fq12.
 */
import { FQ_MODULUS } from '../../curve/points.ts'
import type { Fq2Field, Fq2Value } from './fq2.ts'

const mod = (a: bigint): bigint => ((a % FQ_MODULUS) + FQ_MODULUS) % FQ_MODULUS
const product = ([a0, a1]: Fq2Value, [b0, b1]: Fq2Value): Fq2Value => [mod(a0 * b0 - a1 * b1), mod(a0 * b1 + a1 * b0)]

/** ξ^((p − 1)/6): the p-th power of w is w times this. */
function frobeniusOfW(): Fq2Value {
  let power: Fq2Value = [1n, 0n]
  for (const bit of ((FQ_MODULUS - 1n) / 6n).toString(2)) {
    power = product(power, power)
    if (bit === '1') power = product(power, [1n, 1n])
  }
  return power
}

export class Fq12Field {
  readonly fq2: Fq2Field
  /** Bytes of an element. */
  readonly bytes: number
  /** γ^j with γ = w^(p^k − 1), for k = 1 and 2, j below 6. */
  readonly #gamma: Readonly<Record<1 | 2, number>>
  /** Elements of Fq2 that single operations use for themselves: of Fq6, of Fq12, and of sparse products and squares. */
  readonly #low: readonly number[]
  readonly #high: readonly number[]
  readonly #sparse: readonly number[]

  constructor(fq2: Fq2Field) {
    this.fq2 = fq2
    this.bytes = 6 * fq2.bytes
    const several = (count: number): number[] => {
      const first = fq2.allocate(count)
      return Array.from({ length: count }, (_, k) => first + k * fq2.bytes)
    }
    this.#low = several(8)
    this.#high = several(12)
    this.#sparse = several(12)
    const first = frobeniusOfW()
    // The norm: conjugation is the p-th power in Fq2.
    const second: Fq2Value = [mod(first[0] * first[0] + first[1] * first[1]), 0n]
    const powers = (gamma: Fq2Value): number => {
      const table = several(6)
      let power: Fq2Value = [1n, 0n]
      for (const address of table) {
        fq2.set(address, [power])
        power = product(power, gamma)
      }
      return table[0] as number
    }
    this.#gamma = { 1: powers(first), 2: powers(second) }
  }

  /** Room for an element, for as long as the field lives. */
  allocate(): number {
    return this.fq2.allocate(6)
  }

  setOne(out: number): void {
    for (let k = 0; k < 6; k++) this.fq2.set(this.#part(out, k), [k === 0 ? [1n, 0n] : [0n, 0n]])
  }

  /** Whether every lane holds 1. */
  isOne(a: number): boolean {
    return this.get(a).every((lane) => lane.every(([c0, c1], k) => c0 === (k === 0 ? 1n : 0n) && c1 === 0n))
  }

  /** Values of all lanes. */
  get(a: number): Fq2Value[][] {
    const parts = Array.from({ length: 6 }, (_, k) => this.fq2.get(this.#part(a, k)))
    return Array.from({ length: this.fq2.lanes }, (_, lane) => parts.map((part) => part[lane] as Fq2Value))
  }

  /** @param values one element for all lanes, or one a lane */
  set(out: number, values: readonly (readonly Fq2Value[])[]): void {
    for (let k = 0; k < 6; k++) {
      this.fq2.set(
        this.#part(out, k),
        values.map((lane) => lane[k] as Fq2Value),
      )
    }
  }

  copy(out: number, a: number): void {
    for (let k = 0; k < 6; k++) this.fq2.copy(this.#part(out, k), this.#part(a, k))
  }

  /** a^(p^6), which for an element of the cyclotomic subgroup is its inverse. */
  conjugate(out: number, a: number): void {
    for (let k = 0; k < 3; k++) this.fq2.copy(this.#part(out, k), this.#part(a, k))
    for (let k = 3; k < 6; k++) this.fq2.neg(this.#part(out, k), this.#part(a, k))
  }

  /** a^(p^power). */
  frobenius(out: number, a: number, power: 1 | 2): void {
    const { fq2 } = this
    for (let k = 0; k < 6; k++) {
      const at = this.#part(out, k)
      if (power === 1) fq2.conjugate(at, this.#part(a, k))
      else fq2.copy(at, this.#part(a, k))
      // Element k stands at w^(2k), or at w^(2(k − 3) + 1).
      const exponent = k < 3 ? 2 * k : 2 * k - 5
      fq2.mul(at, at, this.#part(this.#gamma[power], exponent))
    }
  }

  /** (a + bw)(c + dw) = (ac + v·bd) + ((a + b)(c + d) − ac − bd)·w. */
  mul(out: number, x: number, y: number): void {
    const [ac, bd, s, t] = [0, 3, 6, 9].map((k) => this.#high[k] as number) as [number, number, number, number]
    const [b, d, w] = [this.#part(x, 3), this.#part(y, 3), this.#part(out, 3)]
    this.#mul6(ac, x, y)
    this.#mul6(bd, b, d)
    this.#add6(s, x, b)
    this.#add6(t, y, d)
    this.#mul6(w, s, t)
    this.#sub6(w, w, ac)
    this.#sub6(w, w, bd)
    this.#mulV(out, bd)
    this.#add6(out, out, ac)
  }

  /** (a + bw)² = ((a + b)(a + vb) − ab − v·ab) + 2ab·w. */
  sqr(out: number, x: number): void {
    const [ab, s, t] = [0, 3, 6].map((k) => this.#high[k] as number) as [number, number, number]
    const [b, w] = [this.#part(x, 3), this.#part(out, 3)]
    this.#mul6(ab, x, b)
    this.#add6(s, x, b)
    this.#mulV(t, b)
    this.#add6(t, t, x)
    this.#mul6(out, s, t)
    this.#sub6(out, out, ab)
    this.#add6(w, ab, ab)
    this.#mulV(t, ab)
    this.#sub6(out, out, t)
  }

  /** Times the sparse element c0 + c1·v + c4·vw: a line of a Miller loop. 13 multiplications. */
  mulByLine(out: number, x: number, c0: number, c1: number, c4: number): void {
    const { fq2 } = this
    const [aa, bb, s, c14] = [0, 3, 6, 9].map((k) => this.#sparse[k] as number) as [number, number, number, number]
    const [b, w] = [this.#part(x, 3), this.#part(out, 3)]
    this.#mulBy01(aa, x, c0, c1)
    // (b0 + b1 v + b2 v²)·c4 v.
    fq2.mul(this.#part(bb, 0), this.#part(b, 2), c4)
    fq2.mulXi(this.#part(bb, 0), this.#part(bb, 0))
    fq2.mul(this.#part(bb, 1), this.#part(b, 0), c4)
    fq2.mul(this.#part(bb, 2), this.#part(b, 1), c4)
    this.#add6(s, x, b)
    fq2.add(c14, c1, c4)
    this.#mulBy01(w, s, c0, c14)
    this.#sub6(w, w, aa)
    this.#sub6(w, w, bb)
    this.#mulV(out, bb)
    this.#add6(out, out, aa)
  }

  /** 1 / (a + bw) = (a − bw) / (a² − v·b²), and in Fq6 by the adjoint matrix. */
  inv(out: number, x: number): void {
    const { fq2 } = this
    const [t, s, c] = [0, 3, 6].map((k) => this.#high[k] as number) as [number, number, number]
    const [b, w] = [this.#part(x, 3), this.#part(out, 3)]
    this.#mul6(t, x, x)
    this.#mul6(s, b, b)
    this.#mulV(c, s)
    this.#sub6(t, t, c)
    const [t0, t1, t2] = [t, this.#part(t, 1), this.#part(t, 2)]
    const [c0, c1, c2] = [c, this.#part(c, 1), this.#part(c, 2)]
    const [u, norm] = this.#low as [number, number]
    // c0 = t0² − ξ t1 t2, c1 = ξ t2² − t0 t1, c2 = t1² − t0 t2; the norm is t0 c0 + ξ (t2 c1 + t1 c2).
    fq2.mul(u, t1, t2)
    fq2.mulXi(u, u)
    fq2.sqr(c0, t0)
    fq2.sub(c0, c0, u)
    fq2.sqr(c1, t2)
    fq2.mulXi(c1, c1)
    fq2.mul(u, t0, t1)
    fq2.sub(c1, c1, u)
    fq2.sqr(c2, t1)
    fq2.mul(u, t0, t2)
    fq2.sub(c2, c2, u)
    fq2.mul(norm, t2, c1)
    fq2.mul(u, t1, c2)
    fq2.add(norm, norm, u)
    fq2.mulXi(norm, norm)
    fq2.mul(u, t0, c0)
    fq2.add(norm, norm, u)
    fq2.inv(norm, norm)
    for (const part of [c0, c1, c2]) fq2.mul(part, part, norm)
    this.#mul6(s, b, c)
    this.#mul6(out, x, c)
    for (let k = 0; k < 3; k++) fq2.neg(this.#part(w, k), this.#part(s, k))
  }

  /**
   * The square of an element of the cyclotomic subgroup: three squares in Fq4 (Granger and Scott, 2010, §3.2), 9
   * squarings in Fq2.
   */
  sqrCyclotomic(out: number, x: number): void {
    const { fq2 } = this
    const [z0, z4, z3, z2, z1, z5] = Array.from({ length: 6 }, (_, k) => this.#part(x, k)) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ]
    const [o0, o4, o3, o2, o1, o5] = Array.from({ length: 6 }, (_, k) => this.#part(out, k)) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ]
    const [a0, a1, b0, b1, c0, c1] = this.#sparse as [number, number, number, number, number, number]
    this.#sqr4(a0, a1, z0, z1)
    this.#sqr4(b0, b1, z2, z3)
    this.#sqr4(c0, c1, z4, z5)
    fq2.mulXi(c1, c1)
    /** 3 t − 2 z, and 3 t + 2 z. */
    const less = (o: number, t: number, z: number): void => {
      fq2.sub(o, t, z)
      fq2.double(o, o)
      fq2.add(o, o, t)
    }
    const more = (o: number, t: number, z: number): void => {
      fq2.add(o, t, z)
      fq2.double(o, o)
      fq2.add(o, o, t)
    }
    less(o0, a0, z0)
    more(o1, a1, z1)
    more(o2, c1, z2)
    less(o3, c0, z3)
    less(o4, b0, z4)
    more(o5, b1, z5)
  }

  /** (a + b·s)² with s² = ξ. */
  #sqr4(r0: number, r1: number, a: number, b: number): void {
    const { fq2 } = this
    const [u, v] = this.#low as [number, number]
    fq2.sqr(u, a)
    fq2.sqr(v, b)
    fq2.add(r1, a, b)
    fq2.sqr(r1, r1)
    fq2.sub(r1, r1, u)
    fq2.sub(r1, r1, v)
    fq2.mulXi(v, v)
    fq2.add(r0, u, v)
  }

  #mul6(out: number, x: number, y: number): void {
    const { fq2 } = this
    const [v0, v1, v2, s, t, r0, r1] = this.#low as [number, number, number, number, number, number, number]
    const [x1, x2, y1, y2] = [this.#part(x, 1), this.#part(x, 2), this.#part(y, 1), this.#part(y, 2)]
    fq2.mul(v0, x, y)
    fq2.mul(v1, x1, y1)
    fq2.mul(v2, x2, y2)
    // r0 = v0 + ξ ((x1 + x2)(y1 + y2) − v1 − v2)
    fq2.add(s, x1, x2)
    fq2.add(t, y1, y2)
    fq2.mul(r0, s, t)
    fq2.sub(r0, r0, v1)
    fq2.sub(r0, r0, v2)
    fq2.mulXi(r0, r0)
    fq2.add(r0, r0, v0)
    // r1 = (x0 + x1)(y0 + y1) − v0 − v1 + ξ v2
    fq2.add(s, x, x1)
    fq2.add(t, y, y1)
    fq2.mul(r1, s, t)
    fq2.sub(r1, r1, v0)
    fq2.sub(r1, r1, v1)
    // r2 = (x0 + x2)(y0 + y2) − v0 − v2 + v1
    fq2.add(s, x, x2)
    fq2.add(t, y, y2)
    fq2.mul(s, s, t)
    fq2.sub(s, s, v0)
    fq2.sub(s, s, v2)
    fq2.add(this.#part(out, 2), s, v1)
    fq2.mulXi(v2, v2)
    fq2.add(this.#part(out, 1), r1, v2)
    fq2.copy(out, r0)
  }

  /** Times c0 + c1·v: five multiplications. */
  #mulBy01(out: number, x: number, c0: number, c1: number): void {
    const { fq2 } = this
    const [v0, v1, s, t, r0, r1] = this.#low as [number, number, number, number, number, number]
    const [x1, x2] = [this.#part(x, 1), this.#part(x, 2)]
    fq2.mul(v0, x, c0)
    fq2.mul(v1, x1, c1)
    // r0 = v0 + ξ (c1 (x1 + x2) − v1)
    fq2.add(s, x1, x2)
    fq2.mul(r0, s, c1)
    fq2.sub(r0, r0, v1)
    fq2.mulXi(r0, r0)
    fq2.add(r0, r0, v0)
    // r1 = (c0 + c1)(x0 + x1) − v0 − v1
    fq2.add(s, x, x1)
    fq2.add(t, c0, c1)
    fq2.mul(r1, s, t)
    fq2.sub(r1, r1, v0)
    fq2.sub(r1, r1, v1)
    // r2 = c0 (x0 + x2) − v0 + v1
    fq2.add(s, x, x2)
    fq2.mul(s, s, c0)
    fq2.sub(s, s, v0)
    fq2.add(this.#part(out, 2), s, v1)
    fq2.copy(this.#part(out, 1), r1)
    fq2.copy(out, r0)
  }

  #add6(out: number, x: number, y: number): void {
    for (let k = 0; k < 3; k++) this.fq2.add(this.#part(out, k), this.#part(x, k), this.#part(y, k))
  }

  #sub6(out: number, x: number, y: number): void {
    for (let k = 0; k < 3; k++) this.fq2.sub(this.#part(out, k), this.#part(x, k), this.#part(y, k))
  }

  /** v · (x0 + x1 v + x2 v²) = ξ x2 + x0 v + x1 v²; `out` differs from `x`. */
  #mulV(out: number, x: number): void {
    this.fq2.mulXi(out, this.#part(x, 2))
    this.fq2.copy(this.#part(out, 1), x)
    this.fq2.copy(this.#part(out, 2), this.#part(x, 1))
  }

  #part(address: number, k: number): number {
    return address + k * this.fq2.bytes
  }
}
