import type { OperationId } from './operations.ts'

/** The management roles, in the order of their power. */
export const roles = ['gatehouse-owner', 'gatehouse-operator', 'gatehouse-support', 'gatehouse-auditor'] as const
/** A management role. */
export type Role = (typeof roles)[number]

const [owner, operator, support, auditor] = roles

export { operator, owner, support }
/** Who may look at things. */
export const everybody: readonly Role[] = [...roles]
/** Who may change things. */
export const editors = [owner, operator] as const
/** Who answers for what was done. */
export const accountable = [owner, operator, auditor] as const

/** Something that a person does in the console. */
export interface Action<Operation extends OperationId = OperationId> {
  readonly operation: Operation
  /** Who sees it. The API decides; a test calls it as every role and compares. */
  readonly roles: readonly Role[]
  /** Whether the API requires a sign-in of the last ten minutes. */
  readonly dangerous: boolean
  /** The operations whose answers it changes. */
  readonly invalidates: readonly OperationId[]
}

/** An action that changes nothing. */
export function read<Operation extends OperationId>(operation: Operation, allowed: readonly Role[]): Action<Operation> {
  return { operation, roles: allowed, dangerous: false, invalidates: [] }
}

/** An action that changes what the named operations answer. */
export function write<Operation extends OperationId>(
  operation: Operation,
  allowed: readonly Role[],
  ...invalidates: readonly OperationId[]
): Action<Operation> {
  return { operation, roles: allowed, dangerous: false, invalidates }
}

/**
 * An action that cannot be undone, lets somebody in, reaches many people, switches delivery off or hands data out: it
 * requires a recent sign-in.
 */
export function dangerous<Operation extends OperationId>(
  operation: Operation,
  allowed: readonly Role[],
  ...invalidates: readonly OperationId[]
): Action<Operation> {
  return { ...write(operation, allowed, ...invalidates), dangerous: true }
}
