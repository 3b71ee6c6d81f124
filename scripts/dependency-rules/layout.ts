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
  /**
   * A lower folder of types that put together what the others provide. The others take their part of it, so it is left
   * out of the cycles of folders; its files form no cycle either.
   */
  readonly assembly?: string
  /** Packages that this one may import beside those that its role may; they run in a browser too. */
  readonly also?: readonly string[]
  /** Feature folders that run in a browser: they import no other library of ours, and no module of Node. */
  readonly browser?: readonly string[]
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
    entries: ['main', 'start', 'serve', 'worker', 'cli'],
  },
  console: { role: 'service', also: ['client', 'limiter'], lower: ['actions'], browser: ['browser'] },
  identity: {
    role: 'service',
    lower: [
      'audit',
      'background',
      'clients',
      'config',
      'connections',
      'context',
      'http',
      'keys',
      'mail',
      'model',
      'oauth',
      'pages',
      'passwords',
      'sessions',
      'store',
      'webauthn',
    ],
    assembly: 'context',
    entries: ['identity'],
  },
  notify: {
    role: 'service',
    lower: [
      'admission',
      'agenda',
      'catalog',
      'config',
      'context',
      'links',
      'model',
      'plan',
      'preferences',
      'providers',
      'request',
      'store',
      'templates',
    ],
    entries: ['notify'],
  },
  gateway: {
    role: 'service',
    lower: ['activity', 'config', 'http', 'metrics', 'model', 'routing', 'streams'],
    entries: ['gateway'],
  },
  limiter: {
    role: 'library',
    lower: ['algorithms', 'combination', 'hot-keys', 'hybrid', 'memory', 'simulation'],
  },
  bearer: { role: 'library', lower: ['core', 'http', 'keys', 'token'] },
  providers: { role: 'library', lower: ['kind', 'mail', 'model', 'push', 'signature', 'transport'] },
  kit: { role: 'library', lower: ['database', 'http', 'resources', 'secrets', 'text', 'page'] },
  inbox: { role: 'browser' },
  client: {
    role: 'browser',
    lower: ['call', 'errors', 'http', 'oauth', 'operations', 'paging', 'platform', 'stream'],
    entries: ['gatehouse'],
  },
  testing: { role: 'tool' },
  fakes: { role: 'tool' },
  bench: { role: 'tool' },
}
