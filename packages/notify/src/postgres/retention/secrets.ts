import {
  type Database,
  type KeyRing,
  randomToken,
  type SealedColumn,
  Secret,
  StartError,
  seal,
  unseal,
} from '@gatehouse/kit'

const purposeOf = (name: string) => `notify secret ${name}`

/** What the notification service keeps sealed, for `gatehouse keys reseal`. */
export const notifySealed: readonly SealedColumn[] = [
  { table: 'notify.sealed_secret', id: 'name', idType: 'text', sealed: 'sealed', purpose: purposeOf },
]

/**
 * The secret that signs links in mails: made once, and the same for every process on this database. It does not depend
 * on the encryption key, since links hold for as long as mails are kept.
 * @throws StartError when it can't be opened
 */
export async function linkSecret(database: Database, ring: KeyRing): Promise<Secret> {
  const name = 'links'
  await database.query(
    'INSERT INTO notify.sealed_secret (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
    [name, seal(randomToken(), ring, purposeOf(name))],
  )
  const { rows } = await database.query<{ sealed: string }>('SELECT sealed FROM notify.sealed_secret WHERE name = $1', [
    name,
  ])
  try {
    return new Secret(unseal(rows[0]?.sealed ?? '', ring, purposeOf(name)))
  } catch (error) {
    throw new StartError(`the secret of links in mails can't be opened: ${(error as Error).message}`, { cause: error })
  }
}
