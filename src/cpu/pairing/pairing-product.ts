/**
 * Products of optimal ate pairings on BLS12-381 in WebAssembly, on the calling thread, as far as verification needs
 * them: whether one is 1.
 *
 * The Miller loops of all pairings share their squarings; where kernels work on two lanes, each lane takes half of the
 * pairings. As only the comparison with 1 counts, three liberties are taken: lines are scaled by elements of proper
 * subfields, which the final exponentiation takes to 1; f is not conjugated for the negative parameter x; and the
 * exponent of the hard part is three times the true one, which is prime to the group's order r.
 */
import type { G1Point, G2Point } from '../../curve/points.ts'
import type { MemoryArena } from '../arena.ts'
import type { ThreadContext } from '../thread-context.ts'
import { Fq2Field, type Fq2Value } from './fq2.ts'
import { Fq12Field } from './fq12.ts'

/** |x| of the curve's parameter x = −0xd201000000010000, without its leading bit. */
const X_BITS: readonly boolean[] = [...0xd201000000010000n.toString(2)].slice(1).map((bit) => bit === '1')

/** A pairing in hand, or two, one a lane. */
interface Pair {
  /** Affine: y of P, −x of P, both as c0 of Fq2; x and y of Q. */
  readonly yP: number
  readonly minusXP: number
  readonly xQ: number
  readonly yQ: number
  /** A multiple of Q: x = X/Z, y = Y/Z. */
  readonly x: number
  readonly y: number
  readonly z: number
}

const ELEMENTS_OF_PAIR = 7

/** Elements of Fq2 for one step of a Miller loop. */
type Temporaries = readonly [number, number, number, number, number, number, number, number, number, number]

export class PairingProduct {
  readonly #fq2: Fq2Field
  readonly #fq12: Fq12Field
  readonly #pairs: Pair[] = []
  readonly #t: Temporaries
  /** Elements of Fq12. */
  readonly #f: readonly number[]

  constructor(context: ThreadContext, arena: MemoryArena) {
    this.#fq2 = new Fq2Field(context, arena)
    this.#fq12 = new Fq12Field(this.#fq2)
    const first = this.#fq2.allocate(10)
    this.#t = Array.from({ length: 10 }, (_, k) => first + k * this.#fq2.bytes) as unknown as Temporaries
    this.#f = Array.from({ length: 6 }, () => this.#fq12.allocate())
  }

  /**
   * Whether Π e(Pᵢ, Qᵢ) = 1.
   * @param terms points of the subgroups of order r, none of them infinity
   */
  isOne(terms: readonly (readonly [G1Point, G2Point])[]): boolean {
    const [f, other] = this.#f as [number, number]
    const { lanes } = this.#fq2
    // An odd number is computed in every lane alike.
    const apart = terms.length % lanes === 0
    const pairs = apart ? terms.length / lanes : terms.length
    for (let k = 0; k < pairs; k++) {
      this.#place(k, apart ? terms.slice(k * lanes, (k + 1) * lanes) : terms.slice(k, k + 1))
    }
    this.#millerLoop(f, this.#pairs.slice(0, pairs))
    if (apart && lanes === 2) {
      this.#fq12.set(other, this.#fq12.get(f).reverse())
      this.#fq12.mul(f, f, other)
    }
    this.#finalExponentiation(f)
    return this.#fq12.isOne(f)
  }

  #place(k: number, terms: readonly (readonly [G1Point, G2Point])[]): void {
    const fq2 = this.#fq2
    if (this.#pairs[k] === undefined) {
      const first = fq2.allocate(ELEMENTS_OF_PAIR)
      const [yP, minusXP, xQ, yQ, x, y, z] = Array.from(
        { length: ELEMENTS_OF_PAIR },
        (_, i) => first + i * fq2.bytes,
      ) as [number, number, number, number, number, number, number]
      this.#pairs[k] = { yP, minusXP, xQ, yQ, x, y, z }
    }
    const pair = this.#pairs[k] as Pair
    const affine = terms.map(([p, q]) => ({ p: p.toAffine(), q: q.toAffine() }))
    const value = ({ c0, c1 }: { readonly c0: bigint; readonly c1: bigint }): Fq2Value => [c0, c1]
    const place = (at: number, of: (term: (typeof affine)[number]) => Fq2Value): void => fq2.set(at, affine.map(of))
    place(pair.yP, ({ p }) => [p.y, 0n])
    place(pair.minusXP, ({ p }) => [p.x, 0n])
    fq2.neg(pair.minusXP, pair.minusXP)
    place(pair.xQ, ({ q }) => value(q.x))
    place(pair.yQ, ({ q }) => value(q.y))
    fq2.copy(pair.x, pair.xQ)
    fq2.copy(pair.y, pair.yQ)
    fq2.set(pair.z, [[1n, 0n]])
  }

  /** f_{|x|, Q}(P) of all pairs multiplied. */
  #millerLoop(f: number, pairs: readonly Pair[]): void {
    this.#fq12.setOne(f)
    for (const [k, bit] of X_BITS.entries()) {
      if (k > 0) this.#fq12.sqr(f, f)
      for (const pair of pairs) this.#double(f, pair)
      if (bit) for (const pair of pairs) this.#addQ(f, pair)
    }
  }

  /**
   * T = 2T, and f times the tangent at T in P. On the twist y² = x³ + 4ξ the slope is λ = 3X²/(2YZ); the line, moved
   * from the twist and times w³, is (λ x_T − y_T) − λ x_P·v + y_P·vw. Times −2YZ:
   * (12ξZ² − Y²) + 3X² x_P·v − 2YZ y_P·vw.
   */
  #double(f: number, { x, y, z, yP, minusXP }: Pair): void {
    const fq2 = this.#fq2
    const [xy, b, e, h, f3, s, c0, c1, c4] = this.#t
    fq2.mul(xy, x, y)
    fq2.sqr(b, y)
    fq2.sqr(e, z)
    // H = 2YZ = (Y + Z)² − Y² − Z².
    fq2.add(h, y, z)
    fq2.sqr(h, h)
    fq2.sub(h, h, b)
    fq2.sub(h, h, e)
    // E = 12ξZ², F = 3E.
    fq2.mulXi(e, e)
    fq2.double(e, e)
    fq2.double(e, e)
    fq2.double(s, e)
    fq2.add(e, e, s)
    fq2.double(f3, e)
    fq2.add(f3, f3, e)
    // The line, with both signs turned: −1 is an element of a subfield.
    fq2.sub(c0, b, e)
    fq2.sqr(s, x)
    fq2.double(c1, s)
    fq2.add(c1, c1, s)
    fq2.scale(c1, c1, minusXP)
    fq2.scale(c4, h, yP)
    // X = 2XY(B − F), Y = (B + F)² − 12E², Z = 4BH.
    fq2.sub(s, b, f3)
    fq2.mul(x, xy, s)
    fq2.double(x, x)
    fq2.add(s, b, f3)
    fq2.sqr(y, s)
    fq2.sqr(s, e)
    fq2.double(s, s)
    fq2.double(s, s)
    fq2.sub(y, y, s)
    fq2.double(s, s)
    fq2.sub(y, y, s)
    fq2.mul(z, b, h)
    fq2.double(z, z)
    fq2.double(z, z)
    this.#fq12.mulByLine(f, f, c0, c1, c4)
  }

  /**
   * T = T + Q, and f times the line through both in P: with θ = Y − y_Q Z and λ = X − x_Q Z it is
   * (θ x_Q − λ y_Q) − θ x_P·v + λ y_P·vw.
   */
  #addQ(f: number, { x, y, z, xQ, yQ, yP, minusXP }: Pair): void {
    const fq2 = this.#fq2
    const [theta, lambda, d, e, g, h, s, c0, c1, c4] = this.#t
    fq2.mul(s, yQ, z)
    fq2.sub(theta, y, s)
    fq2.mul(s, xQ, z)
    fq2.sub(lambda, x, s)
    fq2.mul(c0, theta, xQ)
    fq2.mul(s, lambda, yQ)
    fq2.sub(c0, c0, s)
    fq2.scale(c1, theta, minusXP)
    fq2.scale(c4, lambda, yP)
    // H = λ³ + Zθ² − 2Xλ²; X = λH, Y = θ(Xλ² − H) − λ³Y, Z = Zλ³.
    fq2.sqr(d, lambda)
    fq2.mul(e, lambda, d)
    fq2.mul(g, x, d)
    fq2.sqr(h, theta)
    fq2.mul(h, h, z)
    fq2.add(h, h, e)
    fq2.sub(h, h, g)
    fq2.sub(h, h, g)
    fq2.mul(x, lambda, h)
    fq2.sub(s, g, h)
    fq2.mul(s, s, theta)
    fq2.mul(y, y, e)
    fq2.sub(y, s, y)
    fq2.mul(z, z, e)
    this.#fq12.mulByLine(f, f, c0, c1, c4)
  }

  /**
   * f^(3 (p^12 − 1) / r). The easy part is (p^6 − 1)(p² + 1); of the hard one,
   * 3 (p⁴ − p² + 1)/r = (x − 1)² (x + p)(x² + p² − 1) + 3 (Hayashida, Hayasaka and Teruya, 2020).
   */
  #finalExponentiation(f: number): void {
    const fq12 = this.#fq12
    const [, m, a, b, c] = this.#f as [number, number, number, number, number]
    fq12.inv(a, f)
    fq12.conjugate(m, f)
    fq12.mul(m, m, a)
    fq12.frobenius(a, m, 2)
    fq12.mul(m, m, a)
    // a = m^(x − 1), b = a^(x − 1).
    for (const [out, base] of [
      [a, m],
      [b, a],
    ] as const) {
      this.#powX(out, base)
      fq12.conjugate(c, base)
      fq12.mul(out, out, c)
    }
    // a = b^(x + p).
    this.#powX(a, b)
    fq12.frobenius(c, b, 1)
    fq12.mul(a, a, c)
    // f = a^(x² + p² − 1).
    this.#powX(b, a)
    this.#powX(f, b)
    fq12.frobenius(c, a, 2)
    fq12.mul(f, f, c)
    fq12.conjugate(c, a)
    fq12.mul(f, f, c)
    fq12.sqrCyclotomic(c, m)
    fq12.mul(c, c, m)
    fq12.mul(f, f, c)
  }

  /** a^x in the cyclotomic subgroup, where the inverse is the conjugate. */
  #powX(out: number, a: number): void {
    const fq12 = this.#fq12
    const power = this.#f[5] as number
    fq12.copy(power, a)
    for (const bit of X_BITS) {
      fq12.sqrCyclotomic(power, power)
      if (bit) fq12.mul(power, power, a)
    }
    fq12.conjugate(out, power)
  }
}
