import type { Route } from '@gatehouse/client'

const members = [
  'path',
  'methods',
  'upstream',
  'public',
  'scope',
  'roles',
  'require_acr',
  'max_age_seconds',
  'policy',
  'tier',
] as const

/** Routes as the configuration file has them. Values are written as JSON, which YAML reads as it is. */
export function routesAsYaml(routes: readonly Route[]): string {
  return ['routes:', ...routes.map((route) => `  - { ${membersOf(route).join(', ')} }`), ''].join('\n')
}

function membersOf(route: Route): string[] {
  return members.flatMap((name) => {
    const value = route[name]
    return value === undefined || isDefault(route, name) ? [] : [`${name}: ${JSON.stringify(value)}`]
  })
}

/** What the file need not say: a route is not public, and the tier counts unless it is or has no limit. */
function isDefault(route: Route, name: (typeof members)[number]): boolean {
  if (name === 'public') return !route.public
  if (name !== 'tier') return false
  return route.policy === undefined || route.policy === 'none' || route.tier === !route.public
}
