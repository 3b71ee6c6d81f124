import { freePort } from '@gatehouse/testing'
import { type Program, started } from './program.ts'

/** What services in processes of their own share: their client, and the key that seals and signs. */
export const sharedSecrets = {
  SERVICE_CLIENT_ID: 'services',
  SERVICE_CLIENT_SECRET: 'a-secret-among-the-services',
  ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
}

/** The three services, each in a process of its own, and in which order they stop. */
export interface Apart {
  readonly gateway: Program
  readonly identity: Program
  readonly programs: readonly Program[]
}

/** Starts identity and notify on embedded engines, and a gateway before them. */
export async function startApart(): Promise<Apart> {
  const [identityPort, gatewayPort] = [await freePort(), await freePort()]
  const identityUrl = `http://localhost:${identityPort}`
  const env = { ...sharedSecrets, AUTH_URL: identityUrl, BASE_URL: `http://localhost:${gatewayPort}` }
  const identity = await started({ port: identityPort, env: { ...env, SERVICES: 'identity' } })
  const notify = await started({ env: { ...env, SERVICES: 'notify', IDENTITY_URL: identityUrl } })
  const gateway = await started({
    port: gatewayPort,
    env: { ...env, SERVICES: 'gateway', IDENTITY_URL: identityUrl, NOTIFY_URL: notify.url },
  })
  return { gateway, identity, programs: [gateway, notify, identity] }
}
