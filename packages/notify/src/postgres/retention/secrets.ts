import {
  type Clock,
  type Database,
  type KeyRing,
  randomToken,
  type SealedColumn,
  Secret,
  StartError,
  seal,
  unseal,
} from '@gatehouse/kit'
import {
  type DatedSecret,
  formatLinkSecrets,
  type LinkSecrets,
  parseLinkSecrets,
  signingSecret,
} from '../../model/link-secrets.ts'

const purposeOf = (name: string) => `notify secret ${name}`

/** What the notification service keeps sealed, for `gatehouse keys reseal`. */
export const notifySealed: readonly SealedColumn[] = [
  { table: 'notify.sealed_secret', id: 'name', idType: 'text', sealed: 'sealed', purpose: purposeOf },
]

/** The name of their row. */
const links = 'links'

/** The secrets of links as they are stored, which another process may replace. */
export interface StoredLinkSecrets extends LinkSecrets {
  /** Reads them again. @throws Error where that fails; those from before stay */
  refresh(): Promise<void>
}

/**
 * The secrets that sign links in mails, the same for every process on this database; the first is made once. They do not
 * depend on the encryption key, since links hold for as long as mails are kept.
 * @throws StartError when they can't be opened
 */
export async function openLinkSecrets(database: Database, ring: KeyRing, clock: Clock): Promise<StoredLinkSecrets> {
  const first = formatLinkSecrets([{ secret: new Secret(randomToken()), signsFrom: 0 }])
  await database.query(
    'INSERT INTO notify.sealed_secret (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
    [links, seal(first, ring, purposeOf(links))],
  )
  let known: string | undefined
  let secrets: readonly DatedSecret[] = []
  let valid: readonly Secret[] = []
  const refresh = async () => {
    const stored = await readSealed(database)
    if (stored === undefined || stored === known) return
    secrets = openSealed(stored, ring)
    valid = secrets.map(({ secret }) => secret)
    known = stored
  }
  await refresh()
  return { signing: () => signingSecret(secrets, clock.now()), valid: () => valid, refresh }
}

/** What {@link rotateLinkSecret} did. */
export interface RotatedLinkSecret {
  /** How many secrets are valid from now on, the new one included. */
  readonly valid: number
  /** From when on the new one signs, Unix milliseconds. */
  readonly signsFrom: number
}

/** By then every process has read the new secret, however late it read the last one. */
const signsAfterMs = 60_000
/** A token is compared with each of them. */
const maxSecrets = 16

/**
 * Adds a secret, which signs within a minute: what earlier ones signed goes on working (RFC 8058 §2 has a link work for
 * as long as its mail is there). A compromised one is not kept, nor is any from before it: the new one is alone.
 * @throws StartError where those that there are can't be opened, or are too many to be kept
 */
export async function rotateLinkSecret(
  database: Database,
  ring: KeyRing,
  { compromised, now }: { readonly compromised: boolean; readonly now: number },
): Promise<RotatedLinkSecret> {
  const secret = new Secret(randomToken())
  for (;;) {
    const stored = await readSealed(database)
    // Also where they are not kept: a ring without their key is not that of the processes, which could not read the new one.
    const before = stored === undefined ? [] : openSealed(stored, ring)
    const kept = compromised ? [] : before
    if (kept.length >= maxSecrets)
      throw new StartError(`there are ${maxSecrets} secrets of links already; with --compromised a new one ends them`)
    const signsFrom = kept.length === 0 ? now : now + signsAfterMs
    const next = seal(formatLinkSecrets([{ secret, signsFrom }, ...kept]), ring, purposeOf(links))
    const { rowCount } = await database.query(
      `INSERT INTO notify.sealed_secret AS s (name, sealed) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed WHERE s.sealed = $3`,
      [links, next, stored ?? ''],
    )
    if (rowCount > 0) return { valid: kept.length + 1, signsFrom }
  }
}

async function readSealed(database: Database): Promise<string | undefined> {
  const { rows } = await database.query<{ sealed: string }>('SELECT sealed FROM notify.sealed_secret WHERE name = $1', [
    links,
  ])
  return rows[0]?.sealed
}

function openSealed(sealed: string, ring: KeyRing): DatedSecret[] {
  try {
    return parseLinkSecrets(unseal(sealed, ring, purposeOf(links)))
  } catch (error) {
    throw new StartError(`the secret of links in mails can't be opened: ${(error as Error).message}`, { cause: error })
  }
}
