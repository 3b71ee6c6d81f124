import { applyDeclared, type Database, type Transaction } from '@gatehouse/kit'
import type { Declared, DeclaredEntry, NewClient, NewUser, OutboxMessage, Written } from '../store.ts'
import { writeClient } from './clients.ts'
import { putMessages } from './outbox.ts'
import { writeUser } from './users.ts'

export class PostgresDeclared implements Declared {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  clients(entries: readonly DeclaredEntry<NewClient>[], now: number): Promise<Map<string, Written>> {
    return this.#apply('client', entries, (tx, client) => writeClient(tx, client, now))
  }

  users(
    entries: readonly DeclaredEntry<NewUser>[],
    tell: (userId: string) => OutboxMessage,
    now: number,
  ): Promise<Map<string, Written>> {
    return this.#apply('user', entries, async (tx, user) => {
      const written = await writeUser(tx, user, now)
      await putMessages(tx, [tell(user.id)])
      return written
    })
  }

  async #apply<Record>(
    kind: string,
    entries: readonly DeclaredEntry<Record>[],
    write: (tx: Transaction, record: Record) => Promise<Written>,
  ): Promise<Map<string, Written>> {
    const written = new Map<string, Written>()
    const records = new Map(entries.map(({ id, record }) => [id, record]))
    const declarations = entries.map(({ id, entry }) => ({ id, entry }))
    await applyDeclared(this.#database, 'identity', kind, declarations, async (tx, id) => {
      const record = await records.get(id)?.()
      if (record !== undefined) written.set(id, await write(tx, record))
    })
    return written
  }
}
