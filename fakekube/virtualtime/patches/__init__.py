"""What is replaced in asyncio, threading, time, datetime, socket and ssl while a bubble is active."""
