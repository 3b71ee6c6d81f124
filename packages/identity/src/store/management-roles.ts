import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { ChangedRoles, ManagementRole } from '../model/management-roles.ts'

/** Other scopes of a management role. */
export interface RoleChange {
  readonly role: ManagementRole
  readonly scopes: readonly string[]
  /** The changed scopes as they were read; undefined for a role that had those that it comes with. */
  readonly expected: readonly string[] | undefined
  /** Whether the members lose scopes: then their access tokens are revoked. */
  readonly narrows: boolean
}

/** The management roles whose scopes were changed. */
export interface ManagementRoles {
  listChanged(): Promise<ChangedRoles>
  /**
   * Changes a role that is still as it was read. Where it narrows, the time is read once nothing is waited for any more,
   * and access tokens of the next `commitMarginMs` are revoked too: until the commit they are issued with the scopes
   * of before.
   */
  change(change: RoleChange, times: () => RevocationTimes): Promise<'changed' | 'outdated'>
}
