import type { ActionId } from '../../actions/index.ts'
import type { IconName } from '../parts/icon.tsx'
import type { Texts } from '../texts/en.ts'

/** A section of the console. */
export interface Section {
  readonly id: keyof Texts['sections']
  readonly path: string
  readonly group: keyof Texts['groups']
  readonly icon: IconName
  /** The letter after `g` that leads to it. */
  readonly letter: string
  /** What it shows; the section is there for those who may do this. */
  readonly action: ActionId | undefined
}

/** The sections in the order of the navigation. */
export const sections: readonly Section[] = [
  { id: 'start', path: '/start', group: 'home', icon: 'flag', letter: 'b', action: 'readSetup' },
  { id: 'overview', path: '/', group: 'home', icon: 'chart', letter: 'o', action: 'readSignInStats' },
  {
    id: 'notifications',
    path: '/notifications',
    group: 'deliver',
    icon: 'bell',
    letter: 'n',
    action: 'listNotifications',
  },
  { id: 'why', path: '/why', group: 'deliver', icon: 'question', letter: 'w', action: 'explain' },
  { id: 'send', path: '/send', group: 'deliver', icon: 'plane', letter: 'f', action: 'explain' },
  { id: 'deadLetters', path: '/dead-letters', group: 'deliver', icon: 'inbox', letter: 'd', action: 'listDeadLetters' },
  { id: 'scheduled', path: '/scheduled', group: 'deliver', icon: 'clock', letter: 'q', action: 'listScheduled' },
  { id: 'providers', path: '/providers', group: 'deliver', icon: 'plug', letter: 'p', action: 'listProviders' },
  {
    id: 'suppressions',
    path: '/suppressions',
    group: 'deliver',
    icon: 'ban',
    letter: 'x',
    action: 'listSuppressions',
  },
  { id: 'eventTypes', path: '/event-types', group: 'deliver', icon: 'tag', letter: 'e', action: 'listEventTypes' },
  { id: 'templates', path: '/templates', group: 'deliver', icon: 'text', letter: 'm', action: 'listTemplates' },
  {
    id: 'deliverability',
    path: '/deliverability',
    group: 'deliver',
    icon: 'send',
    letter: 'v',
    action: 'readStats',
  },
  { id: 'users', path: '/users', group: 'people', icon: 'users', letter: 'u', action: 'listUsers' },
  { id: 'sessions', path: '/sessions', group: 'people', icon: 'monitor', letter: 'i', action: 'findSessions' },
  { id: 'clients', path: '/clients', group: 'access', icon: 'app', letter: 'c', action: 'listClients' },
  { id: 'apiKeys', path: '/api-keys', group: 'access', icon: 'key', letter: 'k', action: 'listApiKeys' },
  { id: 'signingKeys', path: '/signing-keys', group: 'access', icon: 'pen', letter: 's', action: 'listSigningKeys' },
  {
    id: 'permissions',
    path: '/permissions',
    group: 'access',
    icon: 'lock',
    letter: 'j',
    action: 'listTemplatePermissions',
  },
  { id: 'limits', path: '/limits', group: 'limits', icon: 'gauge', letter: 'l', action: 'readLimitSettings' },
  { id: 'callers', path: '/limits/callers', group: 'limits', icon: 'gauge', letter: 'h', action: 'listTopCallers' },
  { id: 'routes', path: '/routes', group: 'limits', icon: 'route', letter: 'z', action: 'listRoutes' },
  { id: 'audit', path: '/audit', group: 'operate', icon: 'list', letter: 'a', action: 'readAudit' },
  {
    id: 'administrators',
    path: '/administrators',
    group: 'operate',
    icon: 'shield',
    letter: 'r',
    action: 'listMembers',
  },
  { id: 'system', path: '/system', group: 'operate', icon: 'pulse', letter: 'y', action: 'readStatus' },
  { id: 'settings', path: '/settings', group: 'operate', icon: 'gear', letter: 't', action: undefined },
]
