/**
 * The packages and the role of their folders, which the dependency rules are checked against. Add a package or a lower
 * folder here; a folder that is named before it exists changes nothing.
 */

/** What a package is to the others, and so what it may import. */
export type Role = 'app' | 'service' | 'library' | 'browser' | 'tool'

export interface PackageLayout {
  readonly role: Role
  /** Folders below the features of the package: features and other lower folders may import them. */
  readonly lower?: readonly string[]
  /** Root files that only outsiders and other root files import; `index`, `routes` and `workers` always are. */
  readonly entries?: readonly string[]
}

export type Layout = Readonly<Record<string, PackageLayout>>

/** Folders with the code of one database or broker, at any depth of a package. They are lower folders as well. */
export const engines: readonly string[] = ['postgres', 'redis', 'nats']

/** Root files that nothing in a folder of the same package imports. */
export const entryFiles: readonly string[] = ['index', 'routes', 'workers']

/** Which roles a package of a role may import. */
export const importable: Readonly<Record<Role, readonly Role[]>> = {
  app: ['service', 'library', 'browser'],
  service: ['library'],
  library: [],
  browser: [],
  tool: ['app', 'service', 'library', 'browser', 'tool'],
}

/** By the name behind `@gatehouse/`. */
export const layout: Layout = {
  gatehouse: {
    role: 'app',
    lower: ['config', 'docs', 'http', 'dev-pages', 'process'],
    entries: ['main', 'start', 'cli'],
  },
  console: { role: 'browser' },
  identity: {
    role: 'service',
    lower: [
      'model',
      'oauth',
      'clients',
      'keys',
      'sessions',
      'mail',
      'pages',
      'background',
      'config',
      'http',
      'context',
      'store',
    ],
    entries: ['identity'],
  },
  notify: {
    role: 'service',
    lower: ['model', 'request', 'templates', 'catalog', 'preferences', 'links', 'config', 'http', 'store', 'providers'],
    entries: ['notify'],
  },
  gateway: { role: 'service', lower: ['metrics'], entries: ['gateway'] },
  limiter: { role: 'library', lower: ['algorithms', 'memory'] },
  bearer: { role: 'library', lower: ['token', 'keys'] },
  providers: { role: 'library', lower: ['transport'] },
  kit: { role: 'library', lower: ['database', 'http', 'secrets', 'text', 'page'] },
  inbox: { role: 'browser' },
  client: { role: 'browser' },
  testing: { role: 'tool' },
  fakes: { role: 'tool' },
  bench: { role: 'tool' },
}
