/** A device's handles are opaque to its callers; given back, they must be its own. */

/**
 * The handle as the class that made it, also where its constructor is private.
 * @throws {TypeError} it is of another device: an error of this package
 */
export function ownHandle<T>(
  made: { readonly prototype: T; [Symbol.hasInstance](value: unknown): boolean },
  value: unknown,
): T {
  if (!made[Symbol.hasInstance](value)) throw new TypeError('The handle is of another device')
  return value as T
}
