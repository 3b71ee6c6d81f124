import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { access } from '../screens/access/routes.ts'
import { callers } from '../screens/callers/routes.ts'
import { content } from '../screens/content/routes.ts'
import { deliver } from '../screens/deliver/routes.ts'
import { limits } from '../screens/limits/routes.ts'
import { measure } from '../screens/measure/routes.ts'
import { operate } from '../screens/operate/routes.ts'
import { SignedOutScreen } from '../screens/operate/signed-out.tsx'
import { people } from '../screens/people/routes.ts'
import { repair } from '../screens/repair/routes.ts'
import { BrokenPage, MissingPage } from './fallbacks.tsx'
import { loadScreen } from './load-screen.ts'
import type { Screens } from './screens.ts'
import { SignedInLayout } from './signed-in.tsx'

/** What an address says beside its path: texts, since numbers and flags are read by the screens. */
function readSearch(search: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const entries = Object.entries(search).map(([name, value]) => [name, String(value)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}

const root = createRootRoute({ validateSearch: readSearch })
const signedOut = createRoute({ getParentRoute: () => root, path: '/signed-out', component: SignedOutScreen })
const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: SignedInLayout })
const screens = Object.entries<Screens[string]>({
  ...measure,
  ...deliver,
  ...repair,
  ...content,
  ...people,
  ...access,
  ...limits,
  ...callers,
  ...operate,
}).map(([path, load]) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    component: lazyRouteComponent(async () => ({ default: await loadScreen(load) })),
  }),
)

/** The addresses of the console. A screen is loaded when it is opened. */
export const router = createRouter({
  routeTree: root.addChildren([signedOut, inside.addChildren(screens)]),
  basepath: '/console',
  scrollRestoration: true,
  defaultErrorComponent: BrokenPage,
  defaultNotFoundComponent: MissingPage,
  defaultPreload: 'intent',
  defaultPreloadDelay: 65,
  // The page of another record begins anew: nothing that was read, revealed or typed of the one before is on it.
  defaultRemountDeps: ({ params }) => params,
})
