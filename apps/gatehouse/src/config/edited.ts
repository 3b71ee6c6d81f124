import { isDeepStrictEqual } from 'node:util'
import type { File } from './schema/file.ts'

/** What SIGHUP applies in one process: the limits. */
const reloaded: ReadonlySet<string> = new Set(['tiers', 'policies', 'global_policy'])

/** The sections of the file that differ from those of the start and are read at a start only, by name. */
export function editedSections(atStart: File, now: File): string[] {
  const sections = new Map<string, unknown>(Object.entries(atStart))
  const names = new Set([...sections.keys(), ...Object.keys(now)])
  const edited = [...names].filter(
    (name) => !reloaded.has(name) && !isDeepStrictEqual(sections.get(name), now[name as keyof File]),
  )
  return edited.sort()
}
