import type { NewClient } from './clients.ts'
import type { OutboxMessage } from './operations.ts'
import type { SignOutOptions } from './sessions.ts'
import type { NewUser } from './users.ts'

/** Who was written: made afresh, or changed. */
export type WriteResult = 'created' | 'updated'

/** What the configuration file declares; last edit wins. Each answers what it wrote, and how. */
export interface DeclarationStore {
  applyClients(entries: readonly DeclarationEntry<NewClient>[], now: number): Promise<Map<string, WriteResult>>
  /** With each user that it writes, what `tell` makes goes into the outbox. A new password ends what the old one began. */
  applyUsers(
    entries: readonly DeclarationEntry<NewUser>[],
    createMessage: (userId: string) => OutboxMessage,
    end: SignOutOptions,
  ): Promise<Map<string, WriteResult>>
}

export interface DeclarationEntry<Record> {
  readonly id: string
  /** What was declared: compared with what was declared last time. */
  readonly entry: unknown
  /** The same as it was compared while another encryption key was the first. */
  readonly previousEntries?: readonly unknown[]
  /** Called only when the entry is to be written, with the password hash of a user who exists. */
  readonly record: (passwordHash?: string) => Promise<Record>
}
