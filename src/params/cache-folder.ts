/** Where this package keeps what saves time at the next start. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/**
 * `wgzk` below $XDG_CACHE_HOME, else below the folder that the platform has for it: `~/Library/Caches`,
 * `%LOCALAPPDATA%` or `~/.cache`.
 * @throws the system's error if there is no home, or {Error} if the environment names none: files that are kept belong
 *   in no working directory
 */
export function cacheFolder(
  platform: NodeJS.Platform = process.platform,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  homeOf: () => string = homedir,
): string {
  const { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local } = environment
  // The standard has relative paths ignored.
  if (xdg && isAbsolute(xdg)) return join(xdg, 'wgzk')
  if (platform === 'win32' && local) return join(local, 'wgzk')
  const home = homeOf()
  if (!isAbsolute(home)) throw new Error(`no home: the environment says ${JSON.stringify(home)}`)
  return platform === 'darwin' ? join(home, 'Library', 'Caches', 'wgzk') : join(home, '.cache', 'wgzk')
}
