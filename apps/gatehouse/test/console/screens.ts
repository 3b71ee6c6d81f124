/** Screens of a first run, by address and heading. */
export const screens = [
  ['/users', 'Users'],
  ['/users/alice', 'alice'],
  ['/users/alice?tab=sessions', 'alice'],
  ['/clients', 'Clients'],
  ['/clients/demo', 'Demo service'],
  ['/api-keys', 'API keys'],
  ['/signing-keys', 'Signing keys'],
  ['/audit', 'Audit log'],
  ['/administrators', 'Administrators'],
  ['/notifications', 'Notification'],
  ['/why', 'Why?'],
  ['/dead-letters', 'Dead letters'],
  ['/system', 'System'],
  ['/settings', 'Settings'],
] as const
