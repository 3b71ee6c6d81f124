import { operationsOf } from '@gatehouse/kit'
import { limitOperations } from './limits.ts'
import { managementOperations } from './management.ts'
import { oauthOperations } from './oauth.ts'
import { organizationOperations } from './organizations.ts'
import { pageOperations } from './pages.ts'

/**
 * The operations in the API document: the id, which names the call in generated clients, a summary and a description.
 */
export const operation = operationsOf({
  ...oauthOperations,
  ...pageOperations,
  ...managementOperations,
  ...limitOperations,
  ...organizationOperations,
})

/** The ids of this package's operations. */
export type OperationId = Parameters<typeof operation>[0]
