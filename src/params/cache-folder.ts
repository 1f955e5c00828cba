/** Where this package keeps what saves time at the next start. */
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * `wgzk` below $XDG_CACHE_HOME, else below the folder that the platform has for it: `~/Library/Caches`,
 * `%LOCALAPPDATA%` or `~/.cache`.
 * @throws the system's error if there is no home
 */
export function cacheFolder(
  platform: NodeJS.Platform = process.platform,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local } = environment
  if (xdg) return join(xdg, 'wgzk')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'wgzk')
  if (platform === 'win32' && local) return join(local, 'wgzk')
  return join(homedir(), '.cache', 'wgzk')
}
