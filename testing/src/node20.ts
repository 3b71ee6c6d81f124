import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** A Node 20 among the programs of this machine. Ours is a newer one, and comes first. */
export function findNode20(): string | undefined {
  const folders = (process.env.PATH ?? '').split(':')
  return folders
    .flatMap((folder) => [join(folder, 'node20'), join(folder, 'node')])
    .find((path) => {
      try {
        return execFileSync(path, ['--version'], { encoding: 'utf8' }).startsWith('v20.')
      } catch {
        return false
      }
    })
}
