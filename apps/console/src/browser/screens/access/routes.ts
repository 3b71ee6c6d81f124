import type { Screens } from '../../app/screens.ts'

/** The screens about clients and keys. */
export const access: Screens = {
  '/clients': async () => (await import('./clients.tsx')).ClientsScreen,
  '/clients/$id': async () => (await import('./client.tsx')).ClientScreen,
  '/api-keys': async () => (await import('./api-keys.tsx')).ApiKeysScreen,
  '/signing-keys': async () => (await import('./signing-keys.tsx')).SigningKeysScreen,
}
