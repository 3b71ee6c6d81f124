import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import {
  type Database,
  type KeyRing,
  type Log,
  makeFolder,
  openEmbedded,
  openPostgres,
  randomToken,
  readKeyRing,
  StartError,
} from '@gatehouse/kit'
import type { Settings } from '../config/config.ts'

/** Opens the database the settings name: PostgreSQL, or the embedded engine in the data folder. */
export function openDatabase(settings: Settings, log: Log): Promise<Database> {
  const { databaseUrl: url, databaseSessionUrl: sessionUrl, databaseConnections, databaseTimeouts: timeouts } = settings
  return url
    ? openPostgres({ url, sessionUrl, log, connections: databaseConnections, timeouts })
    : openEmbedded(settings.dataDir)
}

/**
 * The keys that encrypt secrets at rest: those given, or one made for the embedded engine on its first run.
 * @throws StartError when the file of the embedded engine holds none
 */
export function encryptionKey(settings: Settings): KeyRing {
  if (settings.encryptionKey) return settings.encryptionKey
  const file = join(settings.dataDir, 'encryption-key')
  makeFolder(settings.dataDir)
  if (!existsSync(file)) createWhole(file, randomToken())
  const text = readFileSync(file, 'utf8').trim()
  if (text === '') throw new StartError(`${file} ${emptyKey}`)
  const { ring, faults } = readKeyRing(text)
  if (ring === undefined) throw new StartError(faults.map((fault) => `${file}: ${fault}`).join('\n'))
  return ring
}

const emptyKey =
  'is empty: a first start ended before it wrote the key. If no start has succeeded on this data folder, delete the ' +
  'file and start again; otherwise restore it from a backup, because the data cannot be read without it'

/** Creates a file that is there with its whole text or not at all, unless another process has created it. */
function createWhole(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`
  const descriptor = openSync(draft, 'wx', 0o600)
  try {
    try {
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    publish(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** What file systems without hard links, such as FAT and some network shares, answer to one. */
const noHardLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** Unlike a rename, a hard link never replaces the file of a process that was faster. */
function publish(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (noHardLinks.has(code)) renameSync(draft, file)
    else if (code !== 'EEXIST') throw error
  }
}
