import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { Organization, OrganizationRole } from '../model/organization.ts'
import type { NewClient } from './clients.ts'
import type { NewConnection } from './connections.ts'
import type { OutboxMessage } from './operations.ts'
import type { MemberChange } from './organizations.ts'
import type { SignOutOptions } from './sessions.ts'
import type { NewUser } from './users.ts'

/** Whether a write created or updated. */
export type WriteResult = 'created' | 'updated'

/**
 * Applies the declarations of the configuration file; an entry that has not changed since it was last applied changes
 * nothing. Returns what was written.
 */
export interface DeclarationStore {
  applyClients(entries: readonly DeclarationEntry<NewClient>[], now: number): Promise<Map<string, WriteResult>>
  applyConnections(entries: readonly DeclarationEntry<NewConnection>[], now: number): Promise<Map<string, WriteResult>>
  /**
   * With each written user, the message of `createMessage` is added to the outbox. A new password ends what the old one
   * started.
   */
  applyUsers(
    entries: readonly DeclarationEntry<NewUser>[],
    createMessage: (userId: string) => OutboxMessage,
    options: () => SignOutOptions,
  ): Promise<Map<string, WriteResult>>
  /**
   * The roles of all organizations. Returns those whose keys roles of organizations have: they are not written, but
   * their permissions are protected, and the next call tries again.
   */
  applyOrganizationRoles(entries: readonly DeclarationEntry<OrganizationRole>[], now: number): Promise<RoleConflict[]>
  /**
   * One that does not exist yet and has a member with a role that waits is not written, and the next call tries again.
   * Members of one that exists get such a role in the first call that finds it applied, also where the entry has not
   * changed, and nothing else of what was changed since is written.
   * @throws NameConflict for a member or a role that does not exist
   */
  applyOrganizations(
    entries: readonly DeclarationEntry<DeclaredOrganization>[],
    end: RevocationTimes,
  ): Promise<WaitingOrganizations>
}

/** The ids of declared organizations with members who have a role that waits. */
export interface WaitingOrganizations {
  /** Those that were not written. */
  readonly skipped: readonly string[]
  /** Those that exist, whose members wait for a role. */
  readonly incomplete: readonly string[]
}

/** A role of all organizations whose key some organizations have given a role of their own. */
export interface RoleConflict {
  readonly key: string
  /** The first ten. */
  readonly organizationIds: readonly string[]
}

/** An organization with the members that the file names. */
export interface DeclaredOrganization {
  readonly organization: Organization
  readonly members: readonly DeclaredMember[]
}

/** A member that the file names. */
export interface DeclaredMember extends Pick<MemberChange, 'userId' | 'roles'> {
  /** The keys of declared roles that were not applied: a role of the organization with one of them is left to the member. */
  readonly waitingRoles: readonly string[]
}

/** A declaration of a client or a user. */
export interface DeclarationEntry<Record> {
  readonly id: string
  /** The declaration: compared with the one that was last applied. */
  readonly entry: unknown
  /** The same as it was compared while another encryption key was the first. */
  readonly previousEntries?: readonly unknown[]
  /** Called only when the entry is to be written, with the password hash of an existing user. */
  readonly record: (passwordHash?: string) => Promise<Record>
}
