import { accountable, dangerous, editors, everybody, read } from './action.ts'

/** What is done with clients, keys and the permissions of organizations. */
export const access = {
  listClients: read('clients.list', everybody),
  readClient: read('clients.get', everybody),
  listClientGrants: read('clients.grants.list', everybody),
  createClient: dangerous('clients.create', editors, 'clients.list'),
  updateClient: dangerous('clients.update', editors, 'clients.list', 'clients.get'),
  rotateSecret: dangerous('clients.rotateSecret', editors, 'clients.get'),
  deleteClient: dangerous('clients.delete', editors, 'clients.list', 'clients.get'),
  listApiKeys: read('apiKeys.list', everybody),
  createApiKey: dangerous('apiKeys.create', editors, 'apiKeys.list'),
  rotateApiKey: dangerous('apiKeys.rotate', editors, 'apiKeys.list'),
  revokeApiKey: dangerous('apiKeys.delete', editors, 'apiKeys.list'),
  listSigningKeys: read('signingKeys.list', accountable),
  listTemplatePermissions: read('organizations.templatePermissions.list', everybody),
  releaseTemplatePermission: dangerous(
    'organizations.templatePermissions.release',
    editors,
    'organizations.templatePermissions.list',
  ),
  rotateSigningKey: dangerous('signingKeys.rotate', editors, 'signingKeys.list'),
}
