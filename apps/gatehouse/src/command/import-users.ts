import { readFileSync, statSync } from 'node:fs'
import {
  convertUser,
  ImportedUser,
  type ImportResult,
  type Management,
  maxImportedUsers,
  type SourceName,
  type SourceParameters,
  type SourceRecord,
  sourceNames,
} from '@gatehouse/identity'
import { Problem, StartError } from '@gatehouse/kit'
import { createValidator } from './checked.ts'
import type { Typed } from './typed.ts'

/** What became of a file of users. Those that were not created are listed, by their line or their place in the list. */
export interface ImportReport {
  readonly created: number
  readonly exists: number
  readonly refused: number
  readonly lines: ReadonlyArray<ImportResult & { readonly line: number }>
}

interface Line {
  readonly line: number
  readonly record: SourceRecord | undefined
}

type Outcome = ImportResult & { readonly line: number }

/** Imports the users of a file in batches. @throws StartError for a file or options that cannot be read */
export async function importFile(
  management: Pick<Management, 'importUsers'>,
  path: string,
  options: Typed['options'],
): Promise<ImportReport> {
  const source = readSource(options.source)
  const parameters = readParameters(options)
  const validate = createValidator(ImportedUser)
  const outcomes: Outcome[] = []
  let batch: Array<{ line: number; user: ImportedUser }> = []
  const send = async () => {
    outcomes.push(...(await importBatch(management, batch)))
    batch = []
  }
  for (const { line, record } of readLines(path)) {
    const read = readUser(record, (each) => validate(convertUser(each, source, parameters)))
    if ('fault' in read) outcomes.push({ line, id: read.id, outcome: 'refused', reason: read.fault })
    else batch.push({ line, user: read.user })
    if (batch.length === maxImportedUsers) await send()
  }
  await send()
  return reportOf(outcomes)
}

async function importBatch(
  { importUsers }: Pick<Management, 'importUsers'>,
  batch: ReadonlyArray<{ readonly line: number; readonly user: ImportedUser }>,
): Promise<Outcome[]> {
  if (batch.length === 0) return []
  const results = await importUsers(batch.map(({ user }) => user))
  return results.map((result, index) => ({ line: batch[index]?.line ?? 0, ...result }))
}

function reportOf(outcomes: readonly Outcome[]): ImportReport {
  const count = (wanted: ImportResult['outcome']) => outcomes.filter(({ outcome }) => outcome === wanted).length
  const lines = outcomes.filter(({ outcome }) => outcome !== 'created').sort((a, b) => a.line - b.line)
  return { created: count('created'), exists: count('exists'), refused: count('refused'), lines }
}

/** A user of a record; or why there is none, and the id as far as it is known. */
function readUser(
  record: SourceRecord | undefined,
  convert: (record: SourceRecord) => ImportedUser,
): { readonly user: ImportedUser } | { readonly id: string; readonly fault: string } {
  if (record === undefined) return { id: '', fault: 'the line must be a JSON object' }
  try {
    refuseUnwanted(record)
    return { user: convert(record) }
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof StartError || error instanceof Problem)) throw error
    const id = record.id ?? record.user_id ?? record.localId
    return { id: typeof id === 'string' ? id : '', fault: error.message.replaceAll('\n', '; ') }
  }
}

/** How an export says that nobody can sign in to an account: Keycloak, Firebase and Auth0. */
const switchedOff = [
  ['enabled', false],
  ['disabled', true],
  ['blocked', true],
] as const

/**
 * Whoever was shut out elsewhere is not let in here, with the password of then, because a product moved.
 * @throws RangeError for a record that is to become no user who can sign in
 */
function refuseUnwanted(record: SourceRecord): void {
  const off = switchedOff.find(([member, value]) => record[member] === value)
  if (off)
    throw new RangeError(
      `the account is switched off (${off.join(': ')}): switch it on before the export, or create it here and lock it`,
    )
  const { serviceAccountClientId: client } = record
  if (typeof client === 'string')
    throw new RangeError(`is the service account of a client: register the client ${JSON.stringify(client)}`)
}

const maxBytes = 256 * 1024 * 1024

/** The records of a file: a list, an object whose `users` are one, or a record on each line. */
function readLines(path: string): Line[] {
  const text = readText(path)
  const whole = parse(text)
  const listed = Array.isArray(whole) ? whole : (whole as { users?: unknown } | undefined)?.users
  if (Array.isArray(listed)) return listed.map((record, index) => ({ line: index + 1, record: recordOf(record) }))
  return text.split('\n').flatMap((line, index) => {
    return line.trim() === '' ? [] : [{ line: index + 1, record: recordOf(parse(line)) }]
  })
}

function readText(path: string): string {
  try {
    if (statSync(path).size > maxBytes)
      throw new StartError(`${path} is larger than ${maxBytes / 1024 / 1024} MiB; import it in parts`)
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`the file of users cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function recordOf(value: unknown): SourceRecord | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as SourceRecord) : undefined
}

function readSource(value: string | boolean | undefined): SourceName | undefined {
  if (value === undefined) return undefined
  const source = sourceNames.find((name) => name === value)
  if (source === undefined) throw new StartError(`--source must be one of ${sourceNames.join(', ')}`)
  return source
}

/** The parameters of a Firebase project, as its console shows them. */
function readParameters(options: Typed['options']): SourceParameters {
  const { 'signer-key': signerKey, 'salt-separator': saltSeparator, rounds = '8', 'mem-cost': memCost = '14' } = options
  if (typeof signerKey !== 'string') return {}
  if (typeof saltSeparator !== 'string') throw new StartError('--salt-separator is required beside --signer-key')
  return { firebase: { signerKey, saltSeparator, rounds: Number(rounds), memCost: Number(memCost) } }
}
