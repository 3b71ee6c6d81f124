import type { access as actions } from '@gatehouse/console/actions'
import { type Cases, keys } from './case.ts'

/** A call for each action of this part. */
export const access: Cases<keyof typeof actions> = {
  listClients: () => ({}),
  readClient: () => ({ params: { id: 'setup' } }),
  listClientGrants: () => ({ params: { id: 'setup' } }),
  createClient: (role) => ({ body: { client_id: `made-by-${role}`, scopes: ['orders:read'] } }),
  updateClient: (role) => ({ params: { id: `client-of-${role}` }, body: { client_name: `of ${role}` } }),
  rotateSecret: (role) => ({ params: { id: `client-of-${role}` }, body: { overlap_seconds: 60 } }),
  deleteClient: (role) => ({ params: { id: `client-of-${role}` } }),
  listApiKeys: () => ({}),
  createApiKey: (role) => ({ body: { owner: 'target', name: `made by ${role}` } }),
  rotateApiKey: (role) => ({ params: { id: keys.get(role) ?? '' }, body: { overlap_seconds: 60 } }),
  revokeApiKey: (role) => ({ params: { id: keys.get(role) ?? '' } }),
  listSigningKeys: () => ({}),
  listTemplatePermissions: () => ({}),
  releaseTemplatePermission: (role) => ({ params: { permission: `orders:of-${role}` } }),
  rotateSigningKey: () => ({ body: { alg: 'PS256' } }),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const accessMayFindNothing: readonly (keyof typeof actions)[] = []
