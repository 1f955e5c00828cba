/** Exports of `circuit.wasm`. Every address is a byte address in the imported memory; threads may share it, not their scratch. */
export {
  bindScratch,
  isCanonical,
  addBytes,
  negateBytes,
  multiplyPlain,
  multiplyMany,
  invertMany,
  toMontgomery,
  fromMontgomery,
} from './fr'
export { blake2sInit, blake2sUpdate, blake2sDigest } from './blake2s'
