/**
 * In which order test files run: what takes longest comes first, so that no processor waits at the end. How long each
 * took is kept from run to run; a file that has not run here yet is judged by its size.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import type { Group } from './test-groups.ts'

/** Whether a file of tests says how long something may take: no other of them runs beside it. */
export const isTimed = (file: string): boolean => file.endsWith('.timed.long.test.ts')

/** Long files in which nothing has to happen in time: they calculate while timed ones wait, and give way to them. */
export const patientFiles: readonly string[] = [
  'packages/identity/test/scenarios/fuzz.long.test.ts',
  'packages/notify/test/postgres/retention/year.long.test.ts',
  'packages/notify/test/postgres/plans.long.test.ts',
  'packages/identity/test/scenarios/row-counts.long.test.ts',
  'packages/notify/test/postgres/delivery/set-based.long.test.ts',
  'scripts/test/build-library.long.test.ts',
]

/** Whether a file of tests may run beside timed ones. */
export const isPatient = (file: string): boolean => patientFiles.includes(nameOf(file))

/** Milliseconds by path of a test file, from the root of the repository. */
export type Durations = Readonly<Record<string, number>>

const root = resolve(import.meta.dirname, '..')

/** Files of a minute and more, the slowest first: their size does not show it, and a clean clone knows nothing else. */
export const slowFiles: readonly string[] = [
  'packages/notify/test/scenarios/simulation.long.test.ts',
  'apps/gatehouse/test/docs/schemathesis.long.test.ts',
  'packages/notify/test/postgres/distribution/suite.long.test.ts',
  'apps/gatehouse/test/console/german.long.test.ts',
  'apps/gatehouse/test/deployment/image.long.test.ts',
  'packages/identity/test/scenarios/fuzz.long.test.ts',
  'packages/notify/test/postgres/retention/year.long.test.ts',
  'apps/gatehouse/test/processes/restart.long.test.ts',
  'apps/gatehouse/test/deployment/standalone.long.test.ts',
  'apps/gatehouse/test/processes/ends.long.test.ts',
  'packages/notify/test/nats/partition-leases.timed.long.test.ts',
  'apps/gatehouse/test/failures/half-dead.timed.long.test.ts',
  'apps/gatehouse/test/snippets/toolchains.long.test.ts',
  'apps/gatehouse/test/console/journey.long.test.ts',
  'apps/gatehouse/test/docs/large-inputs.long.test.ts',
  'apps/gatehouse/test/failures/database-lost.long.test.ts',
  'apps/gatehouse/test/failures/killed.long.test.ts',
  'apps/gatehouse/test/console/accidents.long.test.ts',
]

/** What a byte of a test takes, where nothing better is known: by package, and of any other. */
const msPerByte: Readonly<Record<string, number>> = { gatehouse: 1.25, notify: 1 }
const otherMsPerByte = 0.4
const maxGuessedMs = 45_000

/** The groups of files by how long they are expected to take. */
export function sortByDuration(groups: readonly Group[], known: Durations): Group[] {
  const expected = ({ files }: Group) => files.reduce((sum, file) => sum + expectedMs(file, known), 0)
  return groups.toSorted((a, b) => expected(b) - expected(a))
}

/** How long a file is expected to take, in milliseconds. */
function expectedMs(file: string, known: Durations): number {
  const name = nameOf(file)
  const place = slowFiles.indexOf(name)
  const [, folder = ''] = name.split('/')
  const guessed =
    place >= 0
      ? 60_000 + 10_000 * (slowFiles.length - place)
      : Math.min(sizeOf(file) * (msPerByte[folder] ?? otherMsPerByte), maxGuessedMs)
  return known[name] ?? guessed
}

/** The path of a file from the root of the repository. */
const nameOf = (file: string): string => relative(root, file).replaceAll(sep, '/')

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** What earlier runs wrote to `path`; nothing when there is none that can be read. */
export function readDurations(path: string): Durations {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}

/** Keeps what this run measured, by absolute path of the file, beside what is known of the others. */
export function writeDurations(path: string, measured: ReadonlyMap<string, number>): void {
  const named = [...measured].map(([file, ms]) => [nameOf(file), Math.round(ms)])
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify({ ...readDurations(path), ...Object.fromEntries(named) }, undefined, 1))
}
