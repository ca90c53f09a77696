// Both TypeScript SDKs as clients of agentd's merged view, in the eras that
// they speak:
//
//   node typescript.mjs URL AGENT_YML FOLDER
//
// It edits AGENT_YML, and lets tools write into FOLDER. Each check is one line.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'

// The packages are installed where the script is run, not beside this file.
const from = createRequire(join(process.cwd(), 'package.json'))
const load = (name) => import(pathToFileURL(from.resolve(name)).href)
const [url, agentYml, folder] = process.argv.slice(2)

// A speaker makes clients of one SDK in one era. What a client is given:
// answer(message) for questions, and changed() for a list that changed.
async function v1() {
  const { Client } = await load('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const types = await load('@modelcontextprotocol/sdk/types.js')
  return {
    name: 'TypeScript SDK 1, legacy',
    async connect({ answer, changed }) {
      const client = new Client({ name: 'v1', version: '1' }, { capabilities: answer ? { elicitation: {} } : {} })
      if (answer) client.setRequestHandler(types.ElicitRequestSchema, (r) => answer(r.params.message))
      if (changed) client.setNotificationHandler(types.ToolListChangedNotificationSchema, changed)
      await client.connect(new StreamableHTTPClientTransport(new URL(url)))
      return { client, call: (params, options) => client.callTool(params, undefined, options) }
    },
  }
}

async function v2(era, mode) {
  const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client')
  return {
    name: `TypeScript SDK 2, ${era}`,
    async connect({ answer, changed }) {
      const client = new Client({ name: 'v2', version: '1' }, {
        capabilities: answer ? { elicitation: {} } : {},
        versionNegotiation: { mode },
        listChanged: changed && { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } },
      })
      if (answer) client.setRequestHandler('elicitation/create', (r) => answer(r.params.message))
      await client.connect(new StreamableHTTPClientTransport(new URL(url)))
      if (client.getProtocolEra() !== era) throw new Error(`it speaks ${client.getProtocolEra()}, want ${era}`)
      return { client, call: (params, options) => client.callTool(params, options) }
    },
  }
}

let failed = false

// check prints one line: what, and how it failed.
async function check(what, f) {
  try {
    const detail = await f()
    console.log(`ok    ${what}${detail ? `: ${detail}` : ''}`)
  } catch (err) {
    failed = true
    console.log(`FAIL  ${what}: ${err.message}`)
  }
}

function want(got, ok, wanted) {
  if (!ok) throw new Error(`got ${typeof got === 'string' ? got : JSON.stringify(got)}, want ${wanted}`)
}

const text = (result) => result.content.map((c) => c.text).join('\n')

// eventually waits until f gives something.
async function eventually(f, wanted) {
  for (let i = 0; i < 500; i++) {
    if (f()) return
    await sleep(20)
  }
  throw new Error(`never: ${wanted}`)
}

async function asks(speaker) {
  const write = async (name, answer) => {
    const path = join(folder, name)
    const questions = []
    const { client, call } = await speaker.connect({ answer: answer && ((message) => { questions.push(message); return answer }) })
    const result = await call({ name: 'mcp__filesystem__write_file', arguments: { path, content: 'x' } })
    await client.close()
    return { result, questions, written: existsSync(path) }
  }
  const file = speaker.name.replace(/\W+/g, '-')
  await check(`${speaker.name}: an accepted question runs the tool`, async () => {
    const got = await write(`${file}-accepted`, { action: 'accept', content: { answer: 'once' } })
    want(got, got.written && !got.result.isError, 'the file written')
    want(got.questions, got.questions.length === 1 && got.questions[0].includes('mcp__filesystem__write_file'), 'one question that names the tool')
  })
  await check(`${speaker.name}: a declined question refuses it`, async () => {
    const got = await write(`${file}-declined`, { action: 'decline' })
    want(got, !got.written && got.result.isError && text(got.result).includes('refused'), 'a refusal')
  })
  await check(`${speaker.name}: without elicitation it is refused with what to change`, async () => {
    const got = await write(`${file}-mute`)
    want(text(got.result), !got.written && got.result.isError && text(got.result).includes('nobody can be asked'), 'a refusal, since nobody can be asked')
    want(text(got.result), text(got.result).includes('tools.policy') && text(got.result).includes('elicitation'), 'what to change: tools.policy, or a client with elicitation')
  })
}

async function run(speaker) {
  let changes = 0
  const { client, call } = await speaker.connect({ changed: () => { changes++ } })
  const names = async () => (await client.listTools()).tools.map((t) => t.name)
  await check(`${speaker.name}: lists the merged view, broken schemas and all`, async () => {
    const { tools } = await client.listTools()
    const gitlab = tools.filter((t) => t.name.startsWith('mcp__gitlab__'))
    want(gitlab.length, gitlab.length === 9, '9 tools of gitlab')
    return `${tools.length} tools`
  })
  await check(`${speaker.name}: calls a tool`, async () => {
    const got = text(await call({ name: 'mcp__everything__echo', arguments: { message: 'hello' } }))
    want(got, got.includes('hello'), 'the echo')
  })
  await check(`${speaker.name}: gets progress`, async () => {
    const progress = []
    await call({ name: 'mcp__everything__trigger-long-running-operation', arguments: { duration: 0.4, steps: 4 } },
      { onprogress: (p) => progress.push(p.progress) })
    want(progress, progress.join() === '1,2,3,4', '1,2,3,4')
  })
  await check(`${speaker.name}: is told once of an edit of agent.yml`, async () => {
    const before = readFileSync(agentYml, 'utf8')
    const edit = async (content, there) => {
      const had = changes
      writeFileSync(agentYml, content)
      await eventually(() => changes > had, 'list_changed')
      await sleep(700)
      want(changes - had, changes - had === 1, 'one list_changed')
      const now = await names()
      want(now, now.some((name) => name.startsWith('mcp__gitlab__')) === there, `the tools of gitlab ${there ? 'back' : 'gone'}`)
    }
    await edit(before.replace('disabled: false', 'disabled: true'), false)
    await edit(before, true)
  })
  await client.close()
  await asks(speaker)
}

for (const speaker of [await v1(), await v2('legacy', 'legacy'), await v2('modern', { pin: '2026-07-28' })]) await run(speaker)
process.exit(failed ? 1 : 0)
