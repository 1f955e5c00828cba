/**
 * A software Vulkan driver (SwiftShader, out of the package @sparticuz/chromium) for machines without a GPU: no root,
 * no system package. The loader reads its variables when it starts, so they must stand before the process that opens a
 * device does: test launchers merge {@link softwareGpuEnvironment} into the environment of their children.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

/** The package carries the driver for x64 Linux only. */
export const hasSoftwareGpu = process.platform === 'linux' && process.arch === 'x64'

/**
 * Unpacks the driver once into the project's cache folder.
 * @returns {Record<string, string>} variables for the environment of a process that shall see the software adapter
 */
export function softwareGpuEnvironment() {
  if (!hasSoftwareGpu) return {}
  const folder = join(root, '.cache/swiftshader')
  const icd = join(folder, 'vk_swiftshader_icd.json')
  if (!existsSync(icd)) {
    const archive = join(
      dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')),
      '../../bin/swiftshader.tar.br',
    )
    const partial = `${folder}-${process.pid}`
    mkdirSync(partial, { recursive: true })
    execFileSync('tar', ['-x', '-C', partial], { input: brotliDecompressSync(readFileSync(archive)) })
    rmSync(folder, { recursive: true, force: true })
    renameSync(partial, folder)
  }
  return {
    VK_ICD_FILENAMES: icd,
    VK_DRIVER_FILES: icd,
    LD_LIBRARY_PATH: [folder, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
  }
}
