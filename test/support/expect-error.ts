/** Catches what a call throws or rejects with, so that a test can look at code and details. */
import { expect } from 'vitest'
import { ProverError } from '../../src/errors.ts'

/** @returns the `ProverError` that `call` ends with; fails the test if there is none */
export async function proverErrorOf(call: () => unknown): Promise<ProverError> {
  let caught: unknown
  try {
    await call()
  } catch (error) {
    caught = error
  }
  expect(ProverError.is(caught), `expected a ProverError, got ${String(caught)}`).toBe(true)
  return caught as ProverError
}
