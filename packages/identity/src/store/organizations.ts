import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { Membership, Organization, OrganizationRole, ProtectedPermission } from '../model/organization.ts'
import type { ProviderSubject } from './connections.ts'
import type { OutboxMessage } from './operations.ts'

/** The members of an organization to change; those left out stay. */
export type OrganizationUpdate = Partial<Pick<Organization, 'name' | 'status' | 'requireMfa'>>

/** What an update of an organization depends on, and what it announces. */
export interface OrganizationChange {
  /** The organization as it was read. */
  readonly expected?: Organization | undefined
  /** For the outbox, if the organization begins to require a second factor. */
  readonly messages: readonly OutboxMessage[]
}

/** Organizations. */
export interface Organizations {
  find(id: string): Promise<Organization | undefined>
  list(after: string, limit: number): Promise<Organization[]>
  /** False when the id is in use. */
  create(organization: Organization): Promise<boolean>
  /**
   * Updates members of an organization, where one is expected only as long as it is that. Suspending it ends every grant
   * in it, in the same step.
   */
  update(
    id: string,
    patch: OrganizationUpdate,
    end: RevocationTimes,
    change: OrganizationChange,
  ): Promise<'changed' | 'missing' | 'outdated'>
  /** Whether any active organization of the user requires a second factor of its members. */
  requiresMfa(userId: string): Promise<boolean>
  /**
   * Deletes an organization with all that is in it, where one is expected only as long as it is that, and ends every
   * grant in it.
   */
  remove(
    id: string,
    end: RevocationTimes,
    expected: Organization | undefined,
  ): Promise<'changed' | 'missing' | 'outdated'>
}

/** A member of an organization, with the keys of their roles. */
export interface Member {
  readonly userId: string
  readonly username: string
  readonly email: string | undefined
  readonly roles: readonly string[]
  readonly createdAt: number
}

/** The roles that a member shall have, in place of those that the caller read. */
export interface MemberChange {
  readonly organizationId: string
  readonly userId: string
  readonly roles: readonly string[]
  /** The roles of the member as they were read; undefined adds a member. */
  readonly expected: readonly string[] | undefined
  readonly now: number
  /** For the outbox, if the member is changed. */
  readonly messages: readonly OutboxMessage[]
}

/** The result of a change of a member. The last owner who can sign in stays one. */
export type MemberResult = 'changed' | 'missing' | 'outdated' | 'last_owner' | 'unknown_role'

/** The result of becoming a member by signing in. */
export type JoinResult = MemberResult | 'former' | 'invited' | 'locked'

/** A membership that ended. */
export interface FormerMembership {
  readonly organizationId: string
  /** Unix milliseconds. */
  readonly removedAt: number
}

/** Memberships of users in organizations. */
export interface Memberships {
  /** A user's membership with its permissions, while the organization is active. */
  find(organizationId: string, userId: string): Promise<Membership | undefined>
  /** A user's memberships in active organizations, by the name of the organization. */
  listByUser(userId: string, limit: number): Promise<Membership[]>
  /** The organizations that no connection makes the user a member of again. */
  listFormer(userId: string): Promise<FormerMembership[]>
  findMember(organizationId: string, userId: string): Promise<Member | undefined>
  /** In the order of the users' ids. */
  listMembers(organizationId: string, after: string, limit: number): Promise<Member[]>
  /**
   * Makes a user a member, who signed in with an account at the organization's provider. Who was removed, or left, is
   * added by people only. `former`: the user is one of these, or another user with that account at the provider was;
   * `invited`: an invitation to their verified address waits, by which they join with its roles; `locked`: the account
   * is locked, or deleted; `outdated`: they are a member.
   */
  join(member: Omit<MemberChange, 'expected'>, upstream: ProviderSubject): Promise<JoinResult>
  /** Adds a member or replaces the roles of one. */
  put(change: MemberChange): Promise<MemberResult>
  /**
   * Removes a member who still has the roles `expected`, or any where it is undefined, and in the same step ends their
   * grants in the organization and adds those to the revocation feed. No connection makes them a member again, nor does
   * an invitation that was sent to their verified address before.
   */
  remove(member: Omit<MemberChange, 'roles' | 'now'>, end: RevocationTimes): Promise<MemberResult>
}

/**
 * The result of writing a role; `conflict`: a template and a role of an organization can't share a key; `full`: the
 * organization has as many roles of its own as it may.
 */
export type RoleResult = 'created' | 'updated' | 'conflict' | 'full' | 'missing' | 'outdated'

/** The result of releasing a permission; `in_use`: a role has it. */
export type ReleaseResult = 'released' | 'missing' | 'in_use'

/** A role as it was read. */
export type ExpectedRole = Pick<OrganizationRole, 'name' | 'permissions'>

/** Roles of organizations. An organization is undefined for templates, which all organizations have. */
export interface OrganizationRoles {
  /** The templates, and the roles of the organization, in the order of their keys. */
  list(organizationId: string | undefined): Promise<OrganizationRole[]>
  /** Every permission that a template has, or had and that was not released since. */
  listTemplatePermissions(): Promise<string[]>
  /** Those of the templates, or of the roles of the organization itself, in the order of their names. */
  listProtected(organizationId: string | undefined): Promise<ProtectedPermission[]>
  /** Makes a permission of templates, or of the organization, one that depends on no role of theirs. */
  release(organizationId: string | undefined, permission: string): Promise<ReleaseResult>
  /**
   * Creates or replaces a role, and protects its permissions in the same step; where one is expected it is replaced, as
   * long as it is that.
   */
  put(role: OrganizationRole, now: number, expected?: ExpectedRole): Promise<RoleResult>
  /**
   * Deletes a role, where one is expected as long as it is that; members and invitations lose it in the same step. Its
   * permissions stay protected.
   */
  remove(organizationId: string | undefined, key: string, expected?: ExpectedRole): Promise<boolean>
}

/** An invitation that waits for its link to be used. Times are Unix milliseconds. */
export interface Invitation {
  readonly id: string
  readonly organizationId: string
  readonly email: string
  readonly roles: readonly string[]
  /** The member who invited; undefined for management. */
  readonly invitedBy: string | undefined
  readonly createdAt: number
  readonly expiresAt: number
}

/** An invitation with the organization's name, for its page. */
export interface MailedInvitation extends Invitation {
  readonly organizationName: string
}

/** A user who accepts an invitation, by the hash of its token. */
export interface InvitationAcceptance {
  readonly hash: string
  readonly userId: string
  readonly now: number
}

/** The invitations of a user that wait: those to their verified address, and those that they sent. */
export interface UserInvitations {
  readonly received: readonly MailedInvitation[]
  readonly sent: readonly MailedInvitation[]
}

/** Whether the inviter may still grant the roles of an invitation. */
export type MayInvite = (inviter: Membership, roles: readonly OrganizationRole[]) => boolean

/** Invitations to organizations, by the hash of the token in the mail. */
export interface Invitations {
  /** Replaces an earlier invitation of the address, and adds its mail to the outbox. */
  put(
    invitation: Invitation,
    hash: string,
    messages: readonly OutboxMessage[],
  ): Promise<'created' | 'missing' | 'unknown_role'>
  list(organizationId: string, before: string | undefined, limit: number, now: number): Promise<Invitation[]>
  /**
   * The invitation of the link, while it is valid for this user: they have the invited address and proved it, the
   * organization is active and the inviter is not locked and may still grant the roles.
   */
  find(hash: string, userId: string, mayInvite: MayInvite, now: number): Promise<MailedInvitation | undefined>
  listByUser(userId: string, now: number): Promise<UserInvitations>
  /** The invitation of the link, whoever it is for. */
  findMailed(hash: string, now: number): Promise<MailedInvitation | undefined>
  /**
   * Consumes the invitation and adds the member in one step, with messages for the outbox unless the user is a member
   * already; returned to exactly one caller, as for `find`.
   */
  accept(
    acceptance: InvitationAcceptance,
    mayInvite: MayInvite,
    messages: readonly OutboxMessage[],
  ): Promise<MailedInvitation | undefined>
  remove(organizationId: string, id: string): Promise<boolean>
}

/** A domain of an organization. Times are Unix milliseconds. */
export interface OrganizationDomain {
  readonly organizationId: string
  /** In lower case, internationalized labels in their ASCII form. */
  readonly domain: string
  /** What the DNS record contains; not a secret. */
  readonly challenge: string
  readonly createdAt: number
  readonly verifiedAt: number | undefined
}

/** Domains of organizations. */
export interface OrganizationDomains {
  list(organizationId: string): Promise<OrganizationDomain[]>
  find(organizationId: string, domain: string): Promise<OrganizationDomain | undefined>
  /** Adds the domain with its challenge, unless the organization has it. False when there is no such organization. */
  add(domain: OrganizationDomain): Promise<boolean>
  /** Marks the domain as verified if it still has the challenge. `conflict`: another organization proved it before. */
  verify(domain: OrganizationDomain, now: number): Promise<'verified' | 'missing' | 'conflict'>
  remove(organizationId: string, domain: string): Promise<boolean>
  /** The active organization that proved the domain. */
  findOrganization(domain: string): Promise<string | undefined>
}
