import { execFile, spawn } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { requireProgram, temporaryFolder } from './server.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')

/** What an image says about how it is run. */
export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly StopSignal: NodeJS.Signals
  readonly Volumes: Readonly<Record<string, object>>
  readonly Healthcheck: { readonly Test: readonly string[] }
}

export interface ContainerOptions {
  readonly env: Readonly<Record<string, string>>
  /** Files to mount read-only: their path in the container and their content. */
  readonly files?: Readonly<Record<string, string>>
}

/** A process in a container that has ended. */
export interface Exit {
  readonly code: number | null
  readonly output: string
}

export interface Container {
  /** Resolves once the first `text` has been printed; rejects when the process ends before. */
  printed(text: string): Promise<void>
  /** Runs a further command beside the first, as `docker exec` does, and waits for its end. */
  exec(command: readonly string[]): Promise<Exit>
  /** Sends the image's stop signal, or `signal`, and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Exit>
  readonly ended: Promise<Exit>
}

export interface Image {
  readonly config: ImageConfig
  /** Its file system, to be looked at. */
  readonly folder: string
  /**
   * Starts its command on this machine's network as `compose.yaml` does: as the image's user, without capabilities or
   * a way to new privileges, with a read-only root, a `/tmp` in memory and a fresh volume.
   */
  start(options: ContainerOptions): Promise<Container>
  remove(): Promise<void>
}

/** Builds the image of the Dockerfile as `testing/image/build` does. Needs root, buildah and mmdebstrap. */
export async function buildImage(): Promise<Image> {
  requireProgram('mmdebstrap')
  const program = requireProgram('buildah')
  const kept = temporaryFolder('image')
  const buildah = async (...args: string[]): Promise<string> => {
    const places = ['--root', join(kept, 'storage'), '--runroot', join(kept, 'run')]
    return (await run(program, [...places, ...args], { maxBuffer: 16 * 1024 * 1024 })).stdout.trim()
  }
  await run(join(root, 'testing/image/build'), [kept], { maxBuffer: 16 * 1024 * 1024 })
  const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', 'gatehouse:test'))
  const container = await buildah('from', 'gatehouse:test')
  const folder = await buildah('mount', container)
  const config: ImageConfig = Docker.config
  return {
    config,
    folder,
    start: (options) => start(folder, config, options),
    async remove() {
      await buildah('umount', container)
      await buildah('rm', container)
    },
  }
}

async function start(folder: string, config: ImageConfig, options: ContainerOptions): Promise<Container> {
  const { uid, gid } = await idsOf(folder, config.User)
  const volume = temporaryFolder('volume')
  await run('chown', [`${uid}:${gid}`, volume])
  const placeholders: string[] = []
  const files = Object.entries(options.files ?? {}).map(([path, content], index) => {
    const source = join(temporaryFolder('mounted'), String(index))
    writeFileSync(source, content)
    const target = join(folder, path)
    if (!existsSync(target)) {
      placeholders.push(target)
      writeFileSync(target, '')
    }
    return `mount --bind '${source}' "$root${path}" && mount -o remount,bind,ro "$root${path}"`
  })
  // What a container engine does, in a mount namespace of this process's own, in which the mounts end.
  const script = [
    'set -e',
    'mount --bind "$root" "$root"',
    'mount -o remount,bind,ro "$root"',
    'mount --rbind /proc "$root/proc"',
    'mount --rbind /dev "$root/dev"',
    'mount --bind /etc/hosts "$root/etc/hosts"',
    'mount -t tmpfs tmpfs "$root/tmp"',
    ...Object.keys(config.Volumes).map((path) => `mount --bind '${volume}' "$root${path}"`),
    ...files,
    'exec chroot "$root" setpriv --reuid=$uid --regid=$gid --clear-groups --bounding-set=-all --inh-caps=-all ' +
      `--no-new-privs env -i "$@"`,
  ].join('\n')
  const variables = [...config.Env, ...Object.entries(options.env).map(([name, value]) => `${name}=${value}`)]
  const launch = (command: readonly string[]) => {
    const inside = ['sh', '-c', `cd '${config.WorkingDir}' && exec "$@"`, 'sh', ...command]
    const child = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', ...variables, ...inside], {
      env: { PATH: process.env.PATH, root: folder, uid: String(uid), gid: String(gid) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const printed = { text: '' }
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed.text += chunk))
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    const ended = new Promise<Exit>((done) =>
      child.once('close', (code) => {
        process.removeListener('exit', kill)
        done({ code, output: printed.text })
      }),
    )
    return { child, printed, ended }
  }
  const main = launch(config.Cmd)
  const ended = main.ended.finally(() => {
    for (const path of placeholders) rmSync(path)
  })
  return {
    ended,
    printed(text) {
      if (main.printed.text.includes(text)) return Promise.resolve()
      return new Promise((found, lost) => {
        main.child.stdout.on('data', () => main.printed.text.includes(text) && found())
        void ended.then(({ code, output }) => lost(new Error(`ended with ${code} before ${text}: ${output}`)))
      })
    },
    exec: (command) => launch(command).ended,
    stop(signal = config.StopSignal) {
      main.child.kill(signal)
      return ended
    },
  }
}

/** The ids of a user by the image's own list of users. */
async function idsOf(folder: string, user: string): Promise<{ uid: number; gid: number }> {
  const id = async (flag: string) => Number((await run('chroot', [folder, 'id', flag, user])).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}
