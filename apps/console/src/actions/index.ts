export { type Action, type ActionId, actions, mayDo, type Role, roles } from './actions.ts'
export { type OperationId, type OperationService, operations } from './operations.ts'
