import { applyDeclared, type Database, type Transaction } from '@gatehouse/kit'
import type {
  DeclarationEntry,
  DeclarationStore,
  NewClient,
  NewUser,
  OutboxMessage,
  SignOutOptions,
  WriteResult,
} from '../../store/index.ts'
import { writeClient } from '../clients.ts'
import { setPassword } from '../users/accounts.ts'
import { revokeTokensOfRoles, writeUser } from '../users/users.ts'
import { putMessages } from './outbox.ts'

/** Applies declarations, with checksums in `identity.declared`. */
export class PostgresDeclarations implements DeclarationStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  applyClients(entries: readonly DeclarationEntry<NewClient>[], now: number): Promise<Map<string, WriteResult>> {
    return this.#apply('client', entries, async (tx, { record }) => writeClient(tx, await record(), now))
  }

  applyUsers(
    entries: readonly DeclarationEntry<NewUser>[],
    createMessage: (userId: string) => OutboxMessage,
    end: SignOutOptions,
  ): Promise<Map<string, WriteResult>> {
    return this.#apply('user', entries, async (tx, { id, record }) => {
      const text = 'SELECT password_hash, roles FROM identity.account WHERE id = $1 FOR UPDATE'
      const { rows } = await tx.query<{ password_hash: string | null; roles: string[] }>(text, [id])
      const user = await record(rows[0]?.password_hash ?? undefined)
      const written = await writeUser(tx, user, end.now)
      const changed = written === 'updated' ? user.passwordHash : undefined
      if (changed !== undefined) await setPassword(tx, { userId: id, hash: changed, endApiKeys: true }, end)
      await putMessages(tx, [createMessage(id)])
      await revokeTokensOfRoles(tx, user, rows[0]?.roles ?? [], end)
      return written
    })
  }

  async #apply<Record>(
    kind: string,
    entries: readonly DeclarationEntry<Record>[],
    write: (tx: Transaction, entry: DeclarationEntry<Record>) => Promise<WriteResult>,
  ): Promise<Map<string, WriteResult>> {
    const written = new Map<string, WriteResult>()
    const byId = new Map(entries.map((entry) => [entry.id, entry]))
    const declarations = entries.map(({ id, entry, previousEntries: formerly }) => ({ id, entry, formerly }))
    await applyDeclared(this.#database, { schema: 'identity', kind }, declarations, async (tx, id) => {
      const entry = byId.get(id)
      if (entry !== undefined) written.set(id, await write(tx, entry))
    })
    return written
  }
}
