/** Drivers that compute on the CPU, by their names. */
const SOFTWARE_NAME = /swiftshader|llvmpipe|lavapipe|software|basic render/i

/** Whether an adapter's name or description is that of a software driver. */
export function isSoftware(names: string): boolean {
  return SOFTWARE_NAME.test(names)
}
