"""A client of the Python SDK that does what it is told on standard input.

The input is one JSON object, `{"connections": [...]}`; README.md says what stands in it. All
connections are made at once. For each, one line of JSON is printed.
"""

import json
import sys
from pathlib import Path

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters

PATIENCE = 60


def shown(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def program(plan):
    command, *words = plan["command"]
    return StdioServerParameters(command=command, args=words, env=plan["environment"])


class Connection:
    def __init__(self, plan):
        self.plan = plan
        self.changes = 0

    async def run(self):
        plan = self.plan
        server = plan.get("url") or program(plan)
        self.client = Client(
            server,
            mode="legacy" if plan["era"] == "legacy" else "auto",
            client_info=types.Implementation(name="test-python", version="1"),
            message_handler=self.heard,
            elicitation_callback=self.elicit if "elicit" in plan else None,
            cache=None,
        )
        async with self.client:
            steps = [await self.tried(step) for step in plan["steps"]]
            done = {"name": plan["name"], "protocol": self.client.protocol_version, "steps": steps}
            print(json.dumps(done), flush=True)

    async def heard(self, message):
        if isinstance(message, types.ToolListChangedNotification):
            self.changes += 1

    async def elicit(self, _context, _params):
        return types.ElicitResult.model_validate(self.plan["elicit"])

    async def tried(self, step):
        try:
            with anyio.fail_after(PATIENCE):
                return await getattr(self, step["do"])(step)
        except MCPError as error:
            return {"error": {"code": error.code, "message": error.message}}

    async def server(self, _step):
        client = self.client
        capabilities = shown(client.server_capabilities)
        info = client.server_info and shown(client.server_info)
        return {"capabilities": capabilities, "info": info, "instructions": client.instructions}

    async def tools(self, _step):
        return shown(await self.client.list_tools())

    async def resources(self, _step):
        return shown(await self.client.list_resources())

    async def templates(self, _step):
        return shown(await self.client.list_resource_templates())

    async def prompts(self, _step):
        return shown(await self.client.list_prompts())

    async def read(self, step):
        return shown(await self.client.read_resource(step["uri"]))

    async def log(self, step):
        with anyio.fail_after(PATIENCE):
            while True:
                read = await self.client.read_resource("test://log")
                if step["contains"] in read.contents[0].text.splitlines():
                    return True
                await anyio.sleep(0.01)

    async def prompt(self, step):
        return shown(await self.client.get_prompt(step["name"], step["arguments"]))

    async def call(self, step):
        progress = []

        async def on_progress(done, total, message):
            progress.append([done, total, message])

        result = await self.client.call_tool(
            step["name"], step["arguments"], meta=step.get("meta"), progress_callback=on_progress
        )
        return {"result": shown(result), "progress": progress}

    async def cancel(self, step):
        begun, outcome = anyio.Event(), {"cancelled": True}

        async def on_progress(_done, _total, _message):
            begun.set()

        async def calls(scope):
            with scope:
                result = await self.client.call_tool(
                    step["name"], step["arguments"], progress_callback=on_progress
                )
                outcome.update(cancelled=False, result=shown(result))
            begun.set()

        scope = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(calls, scope)
            if "file" in step:
                while not Path(step["file"]).exists():
                    await anyio.sleep(0.01)
            else:
                await begun.wait()
            scope.cancel()
        return outcome

    async def concurrent(self, step):
        wrong = []

        async def calls(number):
            arguments = {"number": number, "words": "x" * (number % 100)}
            result = await self.client.call_tool("get_echo", arguments)
            if result.structured_content != arguments:
                wrong.append(shown(result))

        async with anyio.create_task_group() as group:
            for number in range(step["count"]):
                group.start_soon(calls, number)
        return {"own": step["count"] - len(wrong), "wrong": wrong[:3]}

    async def change(self, step):
        if self.client.protocol_version != "2026-07-28":
            before = self.changes
            await self.client.call_tool("list_again", {})
            while self.changes == before:
                await anyio.sleep(0.01)
        else:
            async with self.client.listen(tools_list_changed=True) as subscription:
                await self.client.call_tool("list_again", {})
                async for _event in subscription:
                    break
        return await self.tools(step)


async def main():
    plan = json.loads(sys.stdin.read())
    async with anyio.create_task_group() as group:
        for connection in plan["connections"]:
            group.start_soon(Connection(connection).run)


anyio.run(main)
