/**
 * Exports of `circuit.wasm`. Every address is a byte address in the imported memory; threads may share it, not their
 * scratch.
 */
export { blake2sDigest, blake2sInit, blake2sUpdate, blake2sUpdateTwo } from './blake2s'
export { addBytes, isCanonical, negateBytes } from './bytes'
export { fromMontgomery, invertMany, multiplyMany, multiplyPlain, toMontgomery } from './fr'
export { bindScratch } from './scratch'
export { poseidonHashMany } from './poseidon'
export {
  bindCheck,
  bindDigest,
  bindRows,
  bindTranspose,
  failedRow,
  flushDigest,
} from './rows'
export { accumulate, combine, firstNotCanonical, lagrangeCoefficients, powers, scale } from './setup'
export { bindContext, walkPiece } from './walk'
