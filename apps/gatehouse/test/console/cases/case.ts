/** The management roles, without their prefix. */
export const roles = ['owner', 'operator', 'support', 'auditor'] as const
/** A management role, without its prefix. */
export type RoleName = (typeof roles)[number]

/** What an action is called with. */
export interface Call {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

/** A call for each action. What it changes is made for the role. */
export type Cases<Id extends string> = Readonly<Record<Id, (role: RoleName) => Call>>

/** The id of nothing. */
export const nothing = '019a205c-cc20-7a27-aaca-4b0e3f272052'
/** A user to act on. */
export const target = { params: { id: 'target' } }
/** Keys that were made for a role to revoke. */
export const keys = new Map<RoleName, string>()
