import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router'
import { ApiKeysScreen } from '../screens/access/api-keys.tsx'
import { ClientScreen } from '../screens/access/client.tsx'
import { ClientsScreen } from '../screens/access/clients.tsx'
import { SigningKeysScreen } from '../screens/access/signing-keys.tsx'
import { DeadLettersScreen, readDeadLetterFilters } from '../screens/deliver/dead-letters.tsx'
import { NotificationScreen } from '../screens/deliver/notification.tsx'
import { FindNotificationScreen } from '../screens/deliver/notifications.tsx'
import { readWhyInput, WhyScreen } from '../screens/deliver/why.tsx'
import { AdministratorsScreen } from '../screens/operate/administrators.tsx'
import { AuditScreen, readAuditFilters } from '../screens/operate/audit.tsx'
import { SettingsScreen } from '../screens/operate/settings.tsx'
import { SignedOutScreen } from '../screens/operate/signed-out.tsx'
import { SystemScreen } from '../screens/operate/system.tsx'
import { readUserTab, UserScreen } from '../screens/people/user.tsx'
import { UsersScreen } from '../screens/people/users.tsx'
import { BrokenPage, MissingPage } from './fallbacks.tsx'
import { SignedInLayout } from './signed-in.tsx'

const root = createRootRoute()
const signedOut = createRoute({
  getParentRoute: () => root,
  path: '/signed-out',
  component: SignedOutScreen,
  validateSearch: ({ fault }: Record<string, unknown>) => (typeof fault === 'string' ? { fault } : {}),
})
const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: SignedInLayout })
const parent = { getParentRoute: () => inside } as const

const screens = [
  createRoute({
    ...parent,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/users' })
    },
  }),
  createRoute({ ...parent, path: '/notifications', component: FindNotificationScreen }),
  createRoute({ ...parent, path: '/notifications/$id', component: NotificationScreen }),
  createRoute({ ...parent, path: '/why', component: WhyScreen, validateSearch: readWhyInput }),
  createRoute({
    ...parent,
    path: '/dead-letters',
    component: DeadLettersScreen,
    validateSearch: readDeadLetterFilters,
  }),
  createRoute({ ...parent, path: '/users', component: UsersScreen }),
  createRoute({ ...parent, path: '/users/$id', component: UserScreen, validateSearch: readUserTab }),
  createRoute({ ...parent, path: '/clients', component: ClientsScreen }),
  createRoute({ ...parent, path: '/clients/$id', component: ClientScreen }),
  createRoute({ ...parent, path: '/api-keys', component: ApiKeysScreen }),
  createRoute({ ...parent, path: '/signing-keys', component: SigningKeysScreen }),
  createRoute({ ...parent, path: '/audit', component: AuditScreen, validateSearch: readAuditFilters }),
  createRoute({ ...parent, path: '/administrators', component: AdministratorsScreen }),
  createRoute({ ...parent, path: '/system', component: SystemScreen }),
  createRoute({ ...parent, path: '/settings', component: SettingsScreen }),
]

/** The addresses of the console. */
export const router = createRouter({
  routeTree: root.addChildren([signedOut, inside.addChildren(screens)]),
  basepath: '/console',
  scrollRestoration: true,
  defaultErrorComponent: BrokenPage,
  defaultNotFoundComponent: MissingPage,
  defaultPreload: false,
})
