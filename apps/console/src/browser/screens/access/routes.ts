import type { Screens } from '../../app/screens.ts'

/** The screens about clients, keys and the permissions of organizations. */
export const access: Screens = {
  '/clients': async () => (await import('./clients/clients.tsx')).ClientsScreen,
  '/clients/$id': async () => (await import('./clients/client.tsx')).ClientScreen,
  '/clients/$id/edit': async () => (await import('./clients/edit-client.tsx')).EditClientScreen,
  '/new-client': async () => (await import('./clients/new-client.tsx')).NewClientScreen,
  '/api-keys': async () => (await import('./keys/api-keys.tsx')).ApiKeysScreen,
  '/signing-keys': async () => (await import('./keys/signing-keys.tsx')).SigningKeysScreen,
  '/permissions': async () => (await import('./permissions/permissions.tsx')).PermissionsScreen,
}
