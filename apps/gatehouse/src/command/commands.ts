import { adminCommands } from './admin-commands.ts'
import { clientCommands } from './client-commands.ts'
import type { Commands } from './command.ts'
import { databaseCommands } from './database-commands.ts'
import { keyCommands } from './key-commands.ts'
import { providerCommands } from './provider-commands.ts'
import { userCommands } from './user-commands.ts'

/** Every command, by its two words. */
export const commands: Commands = {
  ...adminCommands,
  ...clientCommands,
  ...userCommands,
  ...providerCommands,
  ...keyCommands,
  ...databaseCommands,
}
