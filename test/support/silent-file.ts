/**
 * Files that do not answer, as on a server that is gone: pipes that a call to open waits for until somebody writes to
 * them.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'

/** Where {@link makeSilent} can be had. */
export const hasSilentFiles: boolean = process.platform !== 'win32'

/** Makes a file that does not answer. */
export function makeSilent(path: string): void {
  execFileSync('mkfifo', [path])
}

/** Lets the calls that wait for it return: a process with one that does not can't end. */
export function letAnswer(path: string): void {
  closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK))
}
