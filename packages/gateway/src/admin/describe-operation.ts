import { type OperationId, operation } from '../http/operations.ts'

/** The members of a schema that name an operation, and the scopes of which one is required. */
export function describeOperation(id: OperationId, scopes: readonly string[]) {
  return { tags: ['limits'], ...operation(id), security: scopes.map((scope) => ({ bearer: [scope] })) }
}
